"""Which classes a model folder may name: declared ones alone, so that loading runs no foreign code.

A manifest holds a kind such as ``"xr-linear"``. It is looked up here and nowhere else: among the
classes below, those that models declare (`multitudes.models.ModelSpec.stored`), in this library
and in packages that are installed, and those that were registered. No module or class name that
comes from a file is ever imported.
"""

from __future__ import annotations

from multitudes.errors import ConfigError, StoreError, suggestion
from multitudes.models import lookup
from multitudes.models.spec import imported
from multitudes.store.state import State, Storable

# kind -> "module:Class", imported on first use so that loading one model imports only its parts.
# Models are not among them: they declare their own.
_HOMES = {
    "tagger": "multitudes.tagger:Tagger",
    "disentangled": "multitudes.disentangle:Disentangled",
    "ensemble": "multitudes.fusion:Ensemble",
    "rank-fusion": "multitudes.fusion:RankFusion",
    "calibrated-fusion": "multitudes.fusion:CalibratedFusion",
    "learned-fusion": "multitudes.fusion:LearnedFusion",
    "label-names": "multitudes.fusion.names:LabelNames",
    "eagle": "multitudes.groups:Eagle",
    "deep-miml": "multitudes.groups.miml:DeepMIML",
    "calibrated": "multitudes.scores.calibrated:Calibrated",
    "isotonic-calibration": "multitudes.scores.calibration:IsotonicCalibration",
    "temperature-calibration": "multitudes.scores.calibration:TemperatureCalibration",
    "global-threshold": "multitudes.scores:GlobalThreshold",
    "label-thresholds": "multitudes.scores:LabelThresholds",
    "expected-f1": "multitudes.scores:ExpectedF1",
    "label-tree": "multitudes.labels:LabelTree",
    "tfidf": "multitudes.features:TfidfFeatures",
    "hashing-features": "multitudes.features:HashingFeatures",
    "dense-features": "multitudes.features:DenseFeatures",
    "concat-features": "multitudes.features:ConcatFeatures",
    "pass-through": "multitudes.features:PassThrough",
    "omikuji-forest": "multitudes.interchange.omikuji_forest:OmikujiForest",
    "pecos-tfidf": "multitudes.interchange.pecos_tfidf:PecosTfidf",
}

_registered: dict[str, type[Storable]] = {}


def register(kind: str, cls: type[Storable]) -> None:
    """Allow a class of your own to be loaded, under a kind that is not taken.

    Call it before `load`, from your own code: it takes the class itself, never its name. A package
    that declares its models (`multitudes.models`) does not need it.
    """
    taken = kind in _homes() or _registered.get(kind, cls) is not cls
    if taken:
        raise StoreError(f"kind {kind!r} is taken: register {cls.__name__} under another name")
    _registered[kind] = cls


def kinds() -> list[str]:
    """Return all kinds that can be loaded."""
    declared, _ = lookup.stored_classes_of_others()
    return sorted({*_homes(), *_registered, *declared})


def class_of(kind: str) -> type[Storable]:
    """Return the class of a kind; an unknown kind is a StoreError."""
    if kind in _registered:
        return _registered[kind]
    home, problems = _homes().get(kind), list[str]()
    if home is None:
        declared, problems = lookup.stored_classes_of_others()
        home = declared.get(kind)
    if home is None:
        hint = (
            f"{suggestion(kind, kinds())} (install the package that declares it; a class of your "
            "own: call store.register first)"
        )
        raise StoreError(
            f"the model is of kind {kind!r}, which this version does not know: "
            + "; ".join([hint, *problems])
        )
    cls: type[Storable] = imported(home)
    return cls


def state_of(obj: Storable) -> State:
    """Return the state of an object, and refuse one that `load` would not make again.

    Objects made of others call it on these, so that a class that nothing declares is found when it
    is saved, not when it is needed.

    Raises
    ------
    StoreError
        If the kind that the object writes is not declared or registered, or is another class's.
    """
    state, cls = obj.to_state(), type(obj)
    if not isinstance(state, State):
        raise StoreError(f"{cls.__name__}.to_state must return a State, got {state!r}")
    if kind_is_unknown(state.kind):
        problems = lookup.stored_classes_of_others()[1]
        raise StoreError(
            f"{cls.__name__} writes the kind {state.kind!r}, which no ModelSpec.stored declares: "
            + "; ".join(["add it, or loading will fail (or call store.register)", *problems])
        )
    try:
        found = class_of(state.kind)
    except ConfigError as error:
        raise StoreError(
            f"{cls.__name__} writes the kind {state.kind!r}, whose declared class cannot be "
            f"loaded: {error}"
        ) from error
    # By name, because a module that was loaded again has made its classes again.
    if (found.__module__, found.__qualname__) != (cls.__module__, cls.__qualname__):
        raise StoreError(
            f"{cls.__name__} writes the kind {state.kind!r}, which is declared as "
            f"{found.__module__}:{found.__qualname__}, and loading would make one of these: "
            "write a kind of its own, and declare it in ModelSpec.stored"
        )
    return state


def kind_is_unknown(kind: str) -> bool:
    """Whether no class is declared or registered for a kind."""
    known = kind in _registered or kind in _homes()
    return not known and kind not in lookup.stored_classes_of_others()[0]


def _homes() -> dict[str, str]:
    return {**_HOMES, **lookup.stored_classes()}
