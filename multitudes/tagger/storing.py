"""A fitted tagger to a State and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitudes.errors import StoreError
from multitudes.store import State, Storable, build, checks, state_of
from multitudes.tagger.auto.deadline import seconds_of
from multitudes.tagger.auto.report import AutoReport
from multitudes.tagger.reports.group_report import GroupReport
from multitudes.types import Model


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
            **_of_budget(tagger),
        },
        arrays,
        strings=strings,
        parts={name: state_of(part) for name, part in parts.items()},
    )


def _of_budget(tagger: Any) -> dict[str, Any]:
    """Return the budget, and what came of it; nothing for a tagger that had none."""
    report = tagger.auto_report_
    if report is None:
        return {}
    return {"budget": seconds_of(tagger.budget or report.budget), "auto": report.to_dict()}


def check_tagger(state: State) -> None:
    """Check the settings, names and titles of a stored tagger; its parts are held against later."""
    checks.names(
        state,
        config=(
            "preset", "features", "settings", "random_state", "choice", "takes_texts", "groups",
            "budget", "auto",
        ),
        arrays=("example_rows",),
        strings=("labels", "feature_names", "titled", "titles", "examples"),
        parts=("model", "features", "calibrated"),
        optional=(
            "example_rows", "feature_names", "titled", "titles", "examples", "features",
            "calibrated", "budget", "auto",
        ),
    )  # fmt: skip
    for name in ("preset", "features"):
        if not isinstance(state.config[name], str | None):
            raise StoreError(f"{name} must be a name or None, got {state.config[name]!r}")
    if not isinstance(state.config["settings"], dict):
        raise StoreError(f"settings must be a mapping, got {state.config['settings']!r}")
    if not isinstance(state.config["choice"], str):
        raise StoreError(f"choice must be a sentence, got {state.config['choice']!r}")
    checks.count(state, "random_state", at_most=2**63 - 1)
    checks.flag(state, "takes_texts")
    if "auto" in state.config:
        AutoReport.from_dict(state.config["auto"])
    if "budget" in state.config:
        checks.number(state, "budget", at_least=0.0)
    if state.config["groups"] is not None:
        checks.numbers(state.config["groups"], "groups")
    if "calibrated" in state.parts:
        checks.part(state, "calibrated", "calibrated")
    strings = state.strings
    checks.distinct(strings["labels"], "labels")
    checks.distinct(strings.get("titled", ()), "titled")
    checks.same(len(strings.get("titles", ())), len(strings.get("titled", ())), "titles")
    n_examples = len(strings.get("examples", ()))
    if n_examples or "example_rows" in state.arrays:
        checks.array(state, "example_rows", "int64", (n_examples,))


def check_parts(model: Any, features: Any, calibrated: Any, state: State) -> None:
    """Raise a StoreError unless the parts of a tagger fit each other and its labels."""
    if not isinstance(model, Model):
        raise StoreError(f"its model is a {type(model).__name__}, which cannot predict")
    n_labels, n_features = (getattr(model, name, None) for name in ("n_labels_", "n_features_in_"))
    if n_labels is not None:
        checks.same(n_labels, len(state.strings["labels"]), "the number of labels")
    if features is None:
        reads_texts = bool(getattr(model, "reads_texts", False))
        if state.config["takes_texts"] and not reads_texts:
            raise StoreError("its model reads features, and it has none")
    elif not hasattr(features, "transform"):
        raise StoreError(f"its features are a {type(features).__name__}")
    elif n_features is not None and hasattr(features, "n_features_"):
        checks.same(features.n_features_, n_features, "the number of features")
    if "feature_names" in state.strings and n_features is not None:
        checks.same(len(state.strings["feature_names"]), n_features, "the number of features")
    thresholds = None if calibrated is None else getattr(calibrated.rule_, "thresholds_", None)
    if thresholds is not None:
        checks.same(len(thresholds), len(state.strings["labels"]), "the number of labels")


def from_parts(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters with which a stored tagger was made, and what it had learned."""
    config, strings = state.config, state.strings
    model, features, calibrated = (
        build(state.parts[name]) if name in state.parts else None
        for name in ("model", "features", "calibrated")
    )
    check_parts(model, features, calibrated, state)
    named = config["preset"] is not None
    parameters: dict[str, Any] = {
        "model": config["preset"] if named else model,
        "features": config["features"] if named else features,
        "settings": config["settings"] or None,
        "random_state": config["random_state"],
        "budget": config.get("budget"),
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
        "auto_report_": AutoReport.from_dict(config["auto"]) if "auto" in config else None,
        "group_report_": None if groups is None else GroupReport.from_dict(groups),
        "feature_names_": strings.get("feature_names"),
        "examples_": dict(texts),
    }
    return parameters, learned
