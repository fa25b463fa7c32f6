"""Disentangled with the settings of its paper, over XR-Linear with those of PECOS."""

from __future__ import annotations

from multitudes.disentangle.disentangled import Disentangled
from multitudes.linear import XRLinear
from multitudes.linear.tasks import SolverConfig


def as_printed() -> Disentangled:
    """Return an unfitted model with the settings of the paper: see `Disentangled` for ours."""
    solver = SolverConfig(epsilon=0.1, epsilon_growth=0, leaf_threshold=1)
    tree = XRLinear(weights="float32", solver=solver)
    return Disentangled(
        tree,
        overlap=2,
        max_cluster_size=None,
        predict_width=tree.beam_width,
        match_width=tree.beam_width,
        min_instances=1,
        tolerance=1.0,
    )
