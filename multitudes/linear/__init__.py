"""Stage 4a, trees of sparse linear rankers: XR-Linear, Parabel and one-vs-all."""

from multitudes.linear.one_vs_all import OneVsAll
from multitudes.linear.parabel import Parabel
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.xr_linear import XRLinear

__all__ = ["OneVsAll", "Parabel", "SolverConfig", "XRLinear"]
