"""Trees of linear rankers by name, and one ranker per label; and as their papers have them."""

from __future__ import annotations

from dataclasses import replace

from multitudes.models.spec import ModelSpec

MODELS = (
    ModelSpec(
        "xr-linear",
        "one tree of linear rankers; fast at any number of labels",
        "multitudes.linear:XRLinear",
        has_leaves=True,
        on_cluster=True,
        updates=True,
        stored={
            "xr-linear": "multitudes.linear:XRLinear",
            "level-weights": "multitudes.linear.level_weights:LevelWeights",
        },
    ),
    ModelSpec(
        "parabel",
        "three binary trees whose scores are averaged; slower than one tree",
        "multitudes.linear:Parabel",
        has_leaves=True,
        on_cluster=True,
        updates=True,
        stored={"parabel": "multitudes.linear:Parabel"},
    ),
    ModelSpec(
        "one-vs-all",
        "one linear ranker per label, all of them scored; for small label sets",
        "multitudes.linear:OneVsAll",
        on_cluster=True,
        updates=True,
        stored={"one-vs-all": "multitudes.linear:OneVsAll"},
    ),
)

# The models above keep weights as float16 and smaller ones in leaves, stop the solver earlier, and
# give Parabel the scores of XR-Linear.
SOLVER_AS_PRINTED = {
    "solver__epsilon": 0.1,
    "solver__epsilon_growth": 0.0,
    "solver__leaf_threshold": 1.0,
}
PAPERS = (
    replace(
        MODELS[0],
        name="xr-linear:paper",
        summary="XR-Linear as in PECOS (Yu et al. 2022): weights in full",
        settings={"weights": "float32", **SOLVER_AS_PRINTED},
    ),
    replace(
        MODELS[1],
        name="parabel:paper",
        summary="Parabel as printed (Prabhu et al. 2018): squared hinge scores, weights in full",
        settings={
            "weights": "float32",
            "score_function": "l2-hinge",
            **SOLVER_AS_PRINTED,
        },
    ),
    ModelSpec(
        "disentangled:paper",
        "labels in two leaves of XR-Linear, as printed (Liu et al. 2021)",
        "multitudes.disentangle.as_printed:as_printed",
        on_cluster=True,
        updates=True,
    ),
)
