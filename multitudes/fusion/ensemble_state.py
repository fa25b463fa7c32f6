"""A fitted ensemble to a State and back: members with their features, labels and fusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitudes.errors import StoreError
from multitudes.fusion.choosing import AUTO, FUSIONS, FusionReport
from multitudes.fusion.fusion import Fusion
from multitudes.fusion.members import Member
from multitudes.fusion.reference import Reference
from multitudes.fusion.training import HeldOutConfig
from multitudes.store import State, Storable, build, checks, state_of
from multitudes.types import Model

FUSION_KINDS = tuple(f"{name}-fusion" for name in FUSIONS)
REFERENCE = "reference"
REFERRED = {"name", REFERENCE}
SETTINGS = ("fusion", "candidates", "held_out", "random_state")


def to_state(ensemble: Any) -> State:
    """Return the state of a fitted ensemble.

    Features that members share are stored once. Of members that lie in folders of their own, and
    are to stay there, only where that is.
    """
    members, parts, arrays = [], {}, {"label_counts": ensemble.label_counts_}
    numbers: dict[int, int] = {}
    for i, member in enumerate(ensemble.members_):
        if member.label_map is not None:
            arrays[f"labels-{i}"] = member.label_map
        if member.source is not None:
            member.source.check()
            members.append({"name": member.name, REFERENCE: member.source.to_dict()})
            continue
        for part in (member.model, member.features):
            if part is not None and not isinstance(part, Storable):
                raise StoreError(
                    f"the member {member.name!r} has a {type(part).__name__}, which cannot be "
                    "saved: it needs to_state and from_state, and a package that declares it (a "
                    "class of your own: call store.register)"
                )
        if member.features is not None and id(member.features) not in numbers:
            numbers[id(member.features)] = len(numbers)
            parts[f"features-{len(numbers) - 1}"] = state_of(member.features)
        parts[f"model-{i}"] = state_of(member.model)
        own = None if member.features is None else numbers[id(member.features)]
        members.append({"name": member.name, "features": own})
    parts["fusion"] = state_of(ensemble.fusion_)
    is_named = isinstance(ensemble.fusion, str)
    config = {
        "fusion": ensemble.fusion if is_named else ensemble.report_.fusion,
        "candidates": ensemble.candidates,
        "held_out": ensemble.held_out.to_dict(),
        "random_state": ensemble.random_state,
        "members": members,
        "takes_texts": ensemble.takes_texts_,
        "n_features": getattr(ensemble, "n_features_in_", None),
        "report": {
            "fusion": ensemble.report_.fusion,
            "n_held_out": ensemble.report_.n_held_out,
            "members": dict(ensemble.report_.members),
            "fusions": dict(ensemble.report_.fusions),
        },
    }
    return State(ensemble.kind, config, arrays, parts=parts)


def check(state: State) -> None:
    """Check settings, names and labels; members are held against them when they are built."""
    members = state.config.get("members")
    if not isinstance(members, list) or not members:
        raise StoreError("members must be a list of at least one")
    n_features = 0
    for i, member in enumerate(members):
        known = isinstance(member, Mapping) and set(member) in ({"name", "features"}, REFERRED)
        if not known or not isinstance(member["name"], str):
            raise StoreError(f"members[{i}] must have a name and features, got {member!r:.60}")
        if REFERENCE in member:
            Reference.checked(member[REFERENCE])
            continue
        own = member["features"]
        if own is not None and (type(own) is not int or not 0 <= own <= n_features):
            raise StoreError(f"members[{i}] must have features that there are, got {own!r}")
        n_features = max(n_features, 0 if own is None else own + 1)
    checks.distinct([member["name"] for member in members], "names of members")
    maps = [f"labels-{i}" for i in range(len(members))]
    checks.names(
        state,
        config=(*SETTINGS, "members", "takes_texts", "n_features", "report"),
        arrays=("label_counts", *maps),
        parts=(
            "fusion",
            *(f"model-{i}" for i, one in enumerate(members) if REFERENCE not in one),
            *(f"features-{i}" for i in range(n_features)),
        ),
        optional=maps,
    )
    _check_settings(state)
    counts = checks.array(state, "label_counts", "float32", (None,))
    checks.finite(counts, "label_counts")
    fusion = checks.part(state, "fusion", FUSION_KINDS)
    checks.same(fusion.config["n_members"], len(members), "the number of members")
    checks.same(fusion.config["n_labels"], len(counts), "the number of labels")
    for name in maps:
        if name in state.arrays:
            checks.within(checks.array(state, name, "int64", (None,)), name, len(counts), low=-1)


def _check_settings(state: State) -> None:
    checks.choice(state, "fusion", [AUTO, *FUSIONS])
    checks.count(state, "candidates", at_least=1)
    checks.settings(HeldOutConfig, state.config["held_out"], "held_out")
    checks.count(state, "random_state", at_most=2**63 - 1)
    checks.flag(state, "takes_texts")
    checks.count(state, "n_features", none=True)
    report = state.config["report"]
    wanted = {"fusion", "n_held_out", "members", "fusions"}
    if not isinstance(report, Mapping) or set(report) != wanted or report["fusion"] not in FUSIONS:
        raise StoreError(f"report must have {sorted(wanted)}, got {report!r:.60}")
    _numbers_by_name({"n_held_out": report["n_held_out"]}, "report")
    for name in ("members", "fusions"):
        _numbers_by_name(report[name], f"report.{name}")


def _numbers_by_name(values: Any, name: str) -> None:
    checks.numbers(values, name)
    if not isinstance(values, Mapping) or None in values.values():
        raise StoreError(f"{name} must be numbers by name, got {values!r:.60}")


def from_state(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters with which a stored ensemble is made, and what it had learned."""
    config, n_labels = state.config, len(state.arrays["label_counts"])
    made: dict[str, Any] = {name: build(part) for name, part in state.parts.items()}
    members = []
    for i, one in enumerate(config["members"]):
        label_map = state.arrays.get(f"labels-{i}")
        label_map = None if label_map is None else np.array(label_map)
        if REFERENCE in one:
            member = _referred(one, label_map)
        else:
            own = one["features"]
            features = None if own is None else made[f"features-{own}"]
            member = Member(one["name"], made[f"model-{i}"], features, label_map)
        _check_member(member, n_labels, config["n_features"])
        members.append(member)
    fusion: Fusion = made["fusion"]
    parameters = {name: config[name] for name in SETTINGS}
    parameters["members"] = [
        (one.name, one.model if one.features is None else (one.features, one.model))
        for one in members
    ]
    learned = {
        "members_": members,
        "fusion_": fusion,
        "report_": FusionReport(**config["report"]),
        "label_counts_": np.array(state.arrays["label_counts"]),
        "n_labels_": n_labels,
        "takes_texts_": config["takes_texts"],
    }
    if config["n_features"] is not None:
        learned["n_features_in_"] = config["n_features"]
    return parameters, learned


def _referred(stored: Mapping[str, Any], label_map: Any) -> Member:
    """Return a member from the folder that it lies in."""
    source = Reference.checked(stored[REFERENCE])
    tagger = source.load()
    return Member(stored["name"], tagger.model_, tagger.features_, label_map, source)


def _check_member(member: Member, n_labels: int, n_features: int | None) -> None:
    """Raise a StoreError unless a member's parts fit each other and the ensemble."""
    model, features = member.model, member.features
    if not isinstance(model, Model):
        raise StoreError(f"its member {member.name!r} is a {type(model).__name__}")
    n_own = n_labels if member.label_map is None else len(member.label_map)
    checks.same(getattr(model, "n_labels_", n_own), n_own, "the number of labels")
    width = getattr(model, "n_features_in_", None)
    if features is not None and not hasattr(features, "transform"):
        raise StoreError(f"features of {member.name!r} are a {type(features).__name__}")
    if features is not None and width is not None:
        checks.same(getattr(features, "n_features_", width), width, "the number of features")
    if features is None and width is not None and not getattr(model, "reads_texts", False):
        checks.same(n_features, width, "the number of features")
