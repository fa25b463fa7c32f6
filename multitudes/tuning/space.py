"""The settings that are searched: which, over which values, and how Optuna is asked for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitudes.config import Search, among, between
from multitudes.data import Dataset
from multitudes.errors import ConfigError
from multitudes.models import model_spec
from multitudes.tagger import Tagger
from multitudes.tagger.assembly import TaggerSpec, assemble
from multitudes.tagger.presets import AUTO, OVERLAP, full_model, names_of
from multitudes.tagger.settings import (
    COMMON,
    FEATURES_PREFIX,
    Setting,
    check_names,
    dotted,
    settings_of,
)

if TYPE_CHECKING:
    from optuna import Trial

MOST_CHANGED = 3  # settings of the default, in a trial near to it
DIGITS = 3  # of a number that was drawn: what is printed is what was tried

Settings = dict[str, Any]
Wanted = Mapping[str, Search | None] | Iterable[str] | None


class Dimension(NamedTuple):
    """One setting that is searched.

    Parameters
    ----------
    name : str
        As ``--set`` takes it.
    search : Search
        The values to try; the default is among them.
    default : the value of the first trial
    needs_overlap : bool
        Whether it is about labels in several leaves, and means nothing without them.
    """

    name: str
    search: Search
    default: Any
    needs_overlap: bool

    def suggest(self, trial: Trial) -> Any:
        """Ask Optuna for a value; values of a choice are JSON to it, since some are tuples."""
        search = self.search
        if search.choices:
            return trial.suggest_categorical(self.name, [_spelled(v) for v in search.choices])
        assert search.low is not None
        assert search.high is not None
        if search.is_whole:
            low, high = int(search.low), int(search.high)
            return trial.suggest_int(self.name, low, high, log=search.log)
        return trial.suggest_float(self.name, search.low, search.high, log=search.log)

    def random(self, rng: np.random.Generator) -> Any:
        """Return a value by chance, other than the default if there is one, for Optuna."""
        search = self.search
        if search.choices:
            others = [one for one in search.choices if not _equal(one, self.default)]
            return self.encoded(others[rng.integers(len(others))] if others else self.default)
        assert search.low is not None
        assert search.high is not None
        low, high = float(search.low), float(search.high)
        if search.log:
            value = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        else:
            value = float(rng.uniform(low, high))
        value = min(max(value, low), high)
        return round(value) if search.is_whole else value

    def encoded(self, value: Any) -> Any:
        """Return a value as Optuna stores it."""
        return _spelled(value) if self.search.choices else value

    def decoded(self, value: Any) -> Any:
        """Return the value of the setting; numbers have few digits."""
        if self.search.choices:
            index = [_spelled(one) for one in self.search.choices].index(value)
            return self.search.choices[index]
        return value if self.search.is_whole else float(f"{value:.{DIGITS}g}")


def _spelled(value: Any) -> str:
    return json.dumps(value)


class Space:
    """All settings that are searched, for one tagger and one kind of data.

    Parameters
    ----------
    dimensions : list of Dimension
        Overlap first, because others need it.
    """

    def __init__(self, dimensions: list[Dimension]) -> None:
        self.dimensions = sorted(dimensions, key=lambda one: one.name != OVERLAP)

    def __len__(self) -> int:
        return len(self.dimensions)

    @property
    def names(self) -> list[str]:
        """The names of the settings."""
        return [one.name for one in self.dimensions]

    def defaults(self) -> dict[str, Any]:
        """Return the defaults as Optuna stores them, to be tried first."""
        return {one.name: one.encoded(one.default) for one in self.dimensions}

    def near_default(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the defaults with a few of them changed by chance, as Optuna stores them.

        Defaults are good: what differs from them everywhere is hardly ever better.
        """
        n_changed = min(int(rng.integers(1, MOST_CHANGED + 1)), len(self))
        changed = rng.choice(len(self), n_changed, replace=False)
        return self.defaults() | {
            self.dimensions[i].name: self.dimensions[i].random(rng) for i in sorted(changed)
        }

    def described(self) -> dict[str, str]:
        """Return the values of each setting in words."""
        return {one.name: str(one.search) for one in self.dimensions}

    def draw(self, trial: Trial) -> Settings:
        """Ask Optuna for values; return those that differ from the default."""
        return self._settings(lambda one: one.suggest(trial))

    def settings(self, stored: Mapping[str, Any]) -> Settings:
        """Return what differs from the default in values as Optuna stores them."""
        return self._settings(lambda one: stored[one.name])

    def _settings(self, value_of: Callable[[Dimension], Any]) -> Settings:
        overlap: Any = None
        drawn: Settings = {}
        for one in self.dimensions:
            if one.needs_overlap and overlap == 1:
                continue
            value = one.decoded(value_of(one))
            overlap = value if one.name == OVERLAP else overlap
            if not _equal(value, one.default):
                drawn[one.name] = value
        return drawn


def _equal(a: Any, b: Any) -> bool:
    return _spelled(a) == _spelled(b)


def search_space(tagger: Tagger, dataset: Dataset, wanted: Wanted = None) -> Space:
    """Return what to search for a tagger on some data.

    Parameters
    ----------
    tagger : Tagger
        Its own settings are fixed, and are not searched.
    dataset : Dataset
        Texts or features: they decide which features there are to set.
    wanted : names, or mapping of name to Search, optional
        The settings to search; by default all that declare values worth trying. None in a mapping
        stands for the declared values.
    """
    spec = tagger._spec()
    if spec.model == AUTO:
        raise ConfigError(
            "model 'auto' chooses among models, and one is tuned at a time: name it, e.g. "
            f"{names_of(lambda one: one.reads == 'features')}"
        )
    known, plain = _known(spec, dataset)
    fixed = spec.settings
    chosen = _chosen(wanted, known, fixed)
    overlap = known[OVERLAP].get() if OVERLAP in plain else fixed.get(OVERLAP, 1)
    dimensions = []
    for name, search in chosen.items():
        needs_overlap = name not in plain and name != OVERLAP
        if needs_overlap and overlap == 1 and OVERLAP not in chosen:
            raise ConfigError(
                f"setting {name!r} is about labels that live in several leaves: fix overlap to 2, "
                "or search it too"
            )
        default = overlap if name == OVERLAP else known[name].get()
        if wanted is not None:
            search = _checked(search, known[name], default)
        with_default = search.including(default)
        if with_default is not None:
            dimensions.append(Dimension(name, with_default, default, needs_overlap))
        elif wanted is not None:
            raise ConfigError(
                f"setting {name!r} is {default!r} by default, which is not in a range "
                f"{search}: give values to choose from, with this one among them"
            )
    if not dimensions:
        raise ConfigError(f"{spec.model_name} has no settings left to search")
    return Space(dimensions)


def _checked(search: Search, setting: Setting, default: Any) -> Search:
    """Return the values that somebody asked for; those that the setting refuses are an error."""
    if isinstance(default, float) and search.is_whole:  # solver.cost=1..10
        assert search.low is not None
        assert search.high is not None
        search = replace(search, low=float(search.low), high=float(search.high))
    before = setting.get()
    for value in search.choices or (search.low, search.high):
        setting.set(value)
    setting.set(before)
    return search


def _known(spec: TaggerSpec, dataset: Dataset) -> tuple[dict[str, Setting], set[str]]:
    """Return all settings of model and features, and the names that need no overlap."""
    parts = assemble(spec, dataset, from_groups=False)
    features = settings_of(parts.features, FEATURES_PREFIX)
    plain = settings_of(parts.model)
    whole = plain
    if isinstance(spec.model, str):
        model_settings = model_spec(spec.model)
        whole = settings_of(full_model(model_settings)) | plain
        plain = settings_of(model_settings.make_model())
    known = {**whole, **features}
    return {n: s for n, s in known.items() if s.key not in COMMON}, {*plain, *features}


def _chosen(
    wanted: Wanted, known: Mapping[str, Setting], fixed: Mapping[str, Any]
) -> dict[str, Search]:
    """Return the values to search of each setting that is wanted."""
    declared = {name: one.search() for name, one in known.items()}
    if wanted is None:
        return {n: s for n, s in declared.items() if s is not None and n not in fixed}
    if isinstance(wanted, str):
        wanted = [wanted]
    given = dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
    given = {dotted(str(name)): search for name, search in given.items()}
    check_names(given, known)
    chosen: dict[str, Search] = {}
    for name, search in given.items():
        if name in fixed:
            raise ConfigError(f"setting {name!r} is fixed and searched: leave out one of the two")
        search = declared[name] if search is None else search
        if search is None:
            raise ConfigError(
                f"setting {name!r} does not say which values are worth trying: give some, e.g. "
                f"{name}=1..100 or {name}=[1,10,100]"
            )
        if not isinstance(search, Search):
            raise ConfigError(
                f"what is searched of {name!r} must be between(...) or among(...), got {search!r}"
            )
        chosen[name] = search
    return chosen


def parse_search(texts: Iterable[str]) -> dict[str, Search | None]:
    """Return what ``--search`` asks for: a name, ``name=1..10``, ``name=log:0.1..10`` or a list.

    Parameters
    ----------
    texts : iterable of str
        ``branching`` takes the declared values, ``solver.cost=log:0.1..10`` a range by ratios, and
        ``features.word_ngrams=[[1,1],[1,2]]`` a choice, in JSON.
    """
    found: dict[str, Search | None] = {}
    for text in texts:
        name, given, values = text.partition("=")
        if not name.strip():
            raise ConfigError(f"a setting to search has a name, got {text!r}: e.g. branching")
        found[name.strip()] = _parsed(values.strip(), text) if given else None
    return found


def _parsed(values: str, text: str) -> Search:
    low, dots, high = values.removeprefix("log:").partition("..")
    try:
        if dots:
            return between(_number(low), _number(high), log=values.startswith("log:"))
        choices = json.loads(values)
        if not isinstance(choices, list):
            raise ValueError
    except ConfigError as error:
        raise ConfigError(f"{text}: {error}") from None
    except ValueError:
        raise ConfigError(
            f"cannot read what to search in {text!r}: write name=1..10, name=log:0.1..10 or "
            'name=["a","b"], a list as JSON has it'
        ) from None
    return among(*(tuple(one) if isinstance(one, list) else one for one in choices))


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)
