"""Where blocks of work run beyond this machine's threads: on a Ray cluster."""

from multitudes.engine.cluster import Cluster, current_cluster
from multitudes.engine.ray_engine import ray_cluster

__all__ = ["Cluster", "current_cluster", "ray_cluster"]
