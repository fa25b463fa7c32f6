from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from multitudes.config import Config, setting
from multitudes.errors import ConfigError
from multitudes.estimator import Estimator
from multitudes.features import TfidfFeatures
from multitudes.tagger import Tagger
from multitudes.tagger.settings import apply_settings, describe_settings, parse_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=16", {"a": 16}),
        ("a=0.5", {"a": 0.5}),
        ("a=true", {"a": True}),
        ("a=False", {"a": False}),
        ("a=none", {"a": None}),
        ("a=null", {"a": None}),
        ("a=[1, 2]", {"a": [1, 2]}),
        ("a=squared-hinge", {"a": "squared-hinge"}),
        (" features.min_df = 2 ", {"features.min_df": 2}),
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": ""}),
        ("a= ", {"a": " "}),  # e.g. a separator
    ],
)
def test_values_are_read_as_what_they_look_like(text, expected):
    assert parse_settings([text]) == expected


def test_the_last_of_two_wins():
    assert parse_settings(["a=1", "a=2"]) == {"a": 2}


@pytest.mark.parametrize("text", ["branching", "=3", ""])
def test_what_is_no_assignment(text):
    with pytest.raises(ConfigError, match="name=value"):
        parse_settings([text])


@dataclass(frozen=True)
class EngineConfig(Config):
    """For the estimator below."""

    cost: float = setting(1.0, "Weight of the loss.", above=0)
    epochs: int = setting(10, "Passes over the data.", at_least=1)


class Machine(Estimator):
    """An estimator of every kind of parameter.

    Parameters
    ----------
    width : int
        How wide it is,
        in instances.
    engine : EngineConfig
        Its engine.
    matrix : array, optional
        Not for the command line.
    limit : int or None
        The largest number allowed.
    """

    def __init__(
        self,
        width: int = 3,
        engine: EngineConfig = EngineConfig(),
        matrix: np.ndarray | None = None,
        limit: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.width, self.engine, self.matrix = width, engine, matrix
        self.limit, self.random_state = limit, random_state


def test_settings_are_described_where_they_are_declared():
    rows = describe_settings(Machine(), TfidfFeatures())
    of_model = [row for row in rows if not row[0].startswith("features.")]
    assert sorted(of_model) == [
        ("engine.cost", 1.0, "Weight of the loss."),
        ("engine.epochs", 10, "Passes over the data."),
        ("limit", None, "The largest number allowed."),
        ("width", 3, "How wide it is, in instances."),
    ]
    sentences = {name: doc for name, _, doc in rows}
    assert "texts" in sentences["features.min_df"]
    assert "features.n_jobs" not in sentences


def test_fields_of_a_config_parameter_are_settings():
    machine = Machine()
    apply_settings(machine, None, {"engine.cost": 2.0, "engine.epochs": 3, "width": 5})
    assert machine.engine == EngineConfig(cost=2.0, epochs=3)
    assert machine.width == 5
    with pytest.raises(ConfigError, match="EngineConfig.cost must be > 0, got -1"):
        apply_settings(machine, None, {"engine.cost": -1})


@pytest.mark.parametrize("name", ["matrix", "engine", "engine.price"])
def test_what_a_text_cannot_set_is_no_setting(name):
    with pytest.raises(ConfigError, match=f"there is no setting '{name}'"):
        apply_settings(Machine(), None, {name: 1})


def test_names_may_be_spelled_as_for_set_params():
    machine = Machine()
    apply_settings(machine, None, {"engine__cost": 2.0, "engine.epochs": 3})
    assert machine.engine == EngineConfig(cost=2.0, epochs=3)
    tagger = Tagger("xr-linear", settings={"solver__cost": 0.5, "features__min_df": 2})
    tagger.check()
    tagger.fit(["a b", "a b c", "a c"], [["x"], ["y"], ["x"]])
    assert tagger.model_.solver.cost == 0.5
    assert tagger.features_.min_df == 2
    with pytest.raises(ConfigError, match="no setting 'solver.coast': did you mean 'solver.cost'"):
        Tagger("xr-linear", settings={"solver__coast": 2}).check()


@dataclass(frozen=True)
class PairConfig(Config):
    """Two fields that are checked against each other."""

    low: int = setting(1, "The lower.")
    high: int = setting(2, "The higher.")

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ConfigError(f"low must be <= high, got {self.low} and {self.high}")


class Paired(Estimator):
    def __init__(self, pair: PairConfig = PairConfig(), other: PairConfig = PairConfig()) -> None:
        self.pair, self.other = pair, other


def test_fields_of_one_config_are_set_together():
    model = Paired()
    apply_settings(model, None, {"pair.low": 5, "other.high": 9, "pair.high": 6})
    assert (model.pair, model.other) == (PairConfig(5, 6), PairConfig(1, 9))
    with pytest.raises(ConfigError, match="low must be <= high, got 7 and 6"):
        apply_settings(model, None, {"pair.low": 7})
