"""Where blocks of work run: on this machine's threads, or on the machines of a Ray cluster."""

from multitudes.engine.cluster import Cluster, current_cluster
from multitudes.engine.local import LocalCluster
from multitudes.engine.ray_engine import ray_cluster

__all__ = ["Cluster", "LocalCluster", "current_cluster", "ray_cluster"]
