"""Targets: every public callable, every public method of what we can make, every constructor."""

from __future__ import annotations

import importlib
import inspect
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from campaigns.api import subjects
from campaigns.api.kinds import FEATURES, Kind, kind_of, mappings

PACKAGES = (
    "config", "data", "disentangle", "encoder", "features", "groups", "interchange", "labels",
    "linear",
    "memory", "metrics", "models", "scores", "seq2set", "server", "store", "tagger", "types",
    "validation",
)  # fmt: skip
CONSTRUCTED = (
    "XRLinear", "Parabel", "OneVsAll", "Tagger", "TfidfFeatures", "HashingFeatures", "PassThrough",
    "DenseFeatures",
    "Calibrated", "ExpectedF1", "GlobalThreshold", "LabelThresholds", "Dataset", "LabelSpace",
    "Predictions",
)  # fmt: skip
HOOKS = {
    "from_state", "to_state", "check_state", "from_stored", "config_dicts", "note_feature_names",
    "check_fitted",
    "get_metadata_routing", "get_params", "set_params", "set_output", "config_class", "take_over",
    "save", "load",
    "append", "clear", "copy", "count", "extend", "insert", "pop", "remove", "reverse", "sort",
    "known_features",
}  # fmt: skip
EXCLUDED = {
    "setting": "declares a field of a Config, in code",
    "register": "declares a class, in code",
    "serve": "runs until it is stopped: campaigns.server",
    "make_app": "takes a Tagger: campaigns.server",
    "load_backbone": "reads a folder or a hub: readers and store",
    "build": "takes a State: campaigns.store", "save": "takes an object of ours: campaigns.kills",
    "state_of": "takes an object of ours", "align": "campaigns.predictions",
    "read_groups": "campaigns.readers", "line_blocks": "campaigns.readers",
    "encoding_checked": "a context manager of writers", "open_write": "campaigns.kills",
    "describe_settings": "takes a model of ours",
    "update_tagger": "Tagger.partial_fit and the rest",
    "predict_batches": "takes a Tagger: Tagger.predict",
    "predict_to": "takes a Tagger and a stream",
    "predict_tags": "takes a Tagger: Tagger.predict", "evaluate_dataset": "Tagger.evaluate",
    "set_generation_loss": "tensors of a training step",
    "softmax_loss": "tensors of a training step",
    "dynamic_margin_loss": "tensors of a training step",
    "triplet_loss": "tensors of a training step",
    "multi_objective_loss": "tensors of a training step",
    "make_targets": "tensors of a training step",
    "prototype_regularizer": "tensors of a training step", "write_dataset": "campaigns.kills",
    "write_pieces": "writes a folder: tests of pieces",
    "precision_by_frequency": "takes FrequencyBins of ours", "from_texts": "takes features of ours",
    "ambiguous": "takes a model of ours", "diagnose": "impute and Eagle.fit",
    "relabel": "takes objects of ours", "k_fold": "split", "checked_hard_negatives": "XRLinear.fit",
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A callable and the kinds of its parameters.

    Parameters
    ----------
    name
        ``package.function``, ``Class.method`` or ``Class(...)``.
    subject
        The class whose fitted object a method is called on, or empty.
    call
        The function, the name of the method, or the class.
    kinds
        Of each parameter that is given; others keep their defaults.
    required
        Parameters without a default.
    positional
        Those of them that are given by position: wrappers of scikit-learn know no other way.
    """

    name: str
    subject: str
    call: Any
    kinds: dict[str, Kind]
    required: tuple[str, ...]
    positional: tuple[str, ...] = ()

    def arguments(self, rng: random.Random) -> dict[str, Any]:
        """Return good arguments, of which one or some are odd."""
        open_to = [name for name, kind in self.kinds.items() if kind.odd is not None]
        n_odd = min(rng.choice((0, 1, 1, 1, 1, 1, 2, 2, 3)), len(open_to))
        odd = set(rng.sample(open_to, n_odd))
        given = {}
        for name, kind in self.kinds.items():
            if name in odd and kind.odd is not None:
                given[name] = kind.odd(rng)
            elif name in self.required or (kind.good is not None and rng.random() < 0.3):
                given[name] = None if kind.good is None else kind.good(rng)
        return given


def all_targets() -> list[Target]:
    """Return every target, in the same order on every machine."""
    found = {
        target.name: target
        for target in (*_functions(), *_constructors(), *_configs(), *_methods())
    }
    return [found[name] for name in sorted(found)]


def _target(
    owner: str, method: str, call: Any, function: Callable[..., Any], *, subject: str = ""
) -> Target | None:
    """The target of a callable, or None if a required parameter has no kind."""
    name = owner + method if method == "(...)" else f"{owner}.{method}".rstrip(".")
    kinds: dict[str, Kind] = {}
    required, by_place = [], []
    owner_class = owner.partition(" ")[0]
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls") or parameter.kind in (
            parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL
        ):  # fmt: skip
            continue
        needed = parameter.default is parameter.empty
        kind = kind_of(owner_class, method, parameter)
        if parameter.name == "dataset" or "Dataset'" in str(parameter.annotation):
            kind = Kind(subjects.dataset, None)
        if subject == "Tagger of features" and parameter.name == "texts":
            kind = FEATURES
        if kind is None and needed:
            return None
        if kind is not None:
            kinds[parameter.name] = kind
            required += [parameter.name] if needed else []
            by_place += [parameter.name] if parameter.kind != parameter.KEYWORD_ONLY else []
    return Target(name, subject, call, kinds, tuple(required), tuple(by_place))


def not_tried() -> list[str]:
    """Return public functions that are neither targets nor excluded with a reason."""
    tried = {target.name for target in _functions()} | EXCLUDED.keys()
    modules = [importlib.import_module(f"multitudes.{package}") for package in PACKAGES]
    public = {name: getattr(module, name) for module in modules for name in module.__all__}
    return sorted(
        name
        for name, value in public.items()
        if callable(value) and not inspect.isclass(value) and name not in tried
    )


def _functions() -> Iterator[Target]:
    for package in PACKAGES:
        module = importlib.import_module(f"multitudes.{package}")
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isclass(function) or not callable(function) or name in EXCLUDED:
                continue
            target = _target(name, "", function, function)
            if target is not None:
                yield target


def classes() -> dict[str, type]:
    """Return the public classes by name."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(f"multitudes.{package}")
        found |= {
            name: value
            for name in module.__all__
            if inspect.isclass(value := getattr(module, name))
        }
    return found


def _constructors() -> Iterator[Target]:
    known = classes()
    for name in CONSTRUCTED:
        target = _target(name, "(...)", known[name], known[name])
        if target is not None:
            yield target


def _configs() -> Iterator[Target]:
    from multitudes.config import Config

    for name, cls in classes().items():
        if issubclass(cls, Config) and cls is not Config:
            target = _target(name, "(...)", cls, cls)
            if target is not None:
                yield target
            mapping = Kind(lambda rng: {}, mappings)
            yield Target(f"{name}.from_dict", "", cls.from_dict, {"values": mapping}, ("values",))


def _methods() -> Iterator[Target]:
    known = classes()
    names = [*subjects.STORED, "LabelTree", "Predictions", "Dataset", "LabelSpace", "Calibrated",
             "ExpectedF1", "GlobalThreshold", "LabelThresholds", "IsotonicCalibration",
             "TemperatureCalibration", "ConcatFeatures", "HashingFeatures"]  # fmt: skip
    for subject in names:
        cls = known[subject.partition(" ")[0]]
        for method, value in inspect.getmembers(cls, callable):
            if method.startswith(("_", "set_")) or method in HOOKS:
                continue
            function = inspect.unwrap(value)
            try:
                target = _target(subject, method, method, function, subject=subject)
            except ValueError:
                continue  # no signature
            if target is not None:
                yield target
