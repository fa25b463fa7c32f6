"""A fitted tagger to a State and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitudes.errors import StoreError
from multitudes.store import State, Storable, build, state_of
from multitudes.tagger.reports.group_report import GroupReport


def tagger_state(tagger: Any) -> State:
    """Return settings, label names, and model, features and calibration as parts.

    Parameters
    ----------
    tagger : fitted Tagger
    """
    parts = {
        "model": tagger.model_, "features": tagger.features_, "calibrated": tagger.calibrated_
    }  # fmt: skip
    parts = {name: part for name, part in parts.items() if part is not None}
    for name, part in parts.items():
        if not isinstance(part, Storable):
            raise StoreError(
                f"the tagger's {name}, {type(part).__name__}, cannot be saved: "
                "it needs to_state and from_state, and a package that declares it (a class of your "
                "own: call store.register)"
            )
    strings: dict[str, Sequence[str]] = {"labels": tagger.classes_}
    if tagger.feature_names_ is not None:
        strings["feature_names"] = tagger.feature_names_
    if tagger.titles_:
        strings |= {"titled": list(tagger.titles_), "titles": list(tagger.titles_.values())}
    arrays = {}
    if tagger.examples_:
        strings["examples"] = list(tagger.examples_.values())
        arrays["example_rows"] = np.array(list(tagger.examples_), np.int64)
    report = tagger.group_report_
    return State(
        "tagger",
        {
            "preset": tagger.model if isinstance(tagger.model, str) else None,
            "features": tagger.features if isinstance(tagger.features, str) else None,
            "settings": dict(tagger.settings or {}),
            "random_state": tagger.random_state,
            "choice": tagger.choice_,
            "takes_texts": tagger.takes_texts_,
            "groups": None if report is None else report.to_dict(),
        },
        arrays,
        strings=strings,
        parts={name: state_of(part) for name, part in parts.items()},
    )


def from_parts(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters with which a stored tagger was made, and what it had learned."""
    config, strings = state.config, state.strings
    model, features, calibrated = (
        build(state.parts[name]) if name in state.parts else None
        for name in ("model", "features", "calibrated")
    )
    named = config["preset"] is not None
    parameters = {
        "model": config["preset"] if named else model,
        "features": config["features"] if named else features,
        "settings": config["settings"] or None,
        "random_state": config["random_state"],
    }
    groups, rows = config["groups"], state.arrays.get("example_rows")
    texts = () if rows is None else zip(rows.tolist(), strings["examples"], strict=True)
    learned = {
        "model_": model,
        "features_": features,
        "calibrated_": calibrated,
        "classes_": tuple(strings["labels"]),
        "titles_": dict(zip(strings.get("titled", ()), strings.get("titles", ()), strict=True)),
        "choice_": config["choice"],
        "takes_texts_": bool(config["takes_texts"]),
        "group_report_": None if groups is None else GroupReport.from_dict(groups),
        "feature_names_": strings.get("feature_names"),
        "examples_": dict(texts),
    }
    return parameters, learned
