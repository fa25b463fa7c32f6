"""What a server tells those who run it: a line for each request, and numbers for Prometheus."""

from multitudes.server.watching.lines import Lines
from multitudes.server.watching.metrics import Metrics
from multitudes.server.watching.watched import Watched

__all__ = ["Lines", "Metrics", "Watched"]
