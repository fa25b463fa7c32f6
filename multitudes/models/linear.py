"""Trees of linear rankers by name, and one ranker per label."""

from __future__ import annotations

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
