"""What was stored by an older class, by a newer one, and by one with other settings."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from multitudes.config import Config
from multitudes.errors import StoreError
from multitudes.store import State, build, load, read_manifest, register, save
from multitudes.store.migration import current_version

from .box import Box


class First:
    """A ranker as it was: one weight for all labels, and a seed."""

    def __init__(self, *, seed: int, weight: float) -> None:
        self.seed, self.weight = seed, weight

    def to_state(self) -> State:
        return State("test-ranker", {"seed": self.seed, "weight": self.weight})


class Ranker:
    """The same ranker two versions later: `random_state` (2), and an array of weights (3)."""

    state_version = 3

    def __init__(self, *, random_state: int) -> None:
        self.random_state = random_state

    def to_state(self) -> State:
        config = {"random_state": self.random_state}
        return State("test-ranker", config, {"weights": self.weights_})

    @classmethod
    def from_state(cls, state: State) -> Ranker:
        ranker = cls(**state.config)
        ranker.weights_ = state.arrays["weights"]
        return ranker

    @classmethod
    def migrate_state(cls, state: State) -> State:
        config = dict(state.config)
        if state.version == 1:
            config["random_state"] = config.pop("seed")
            return replace(state, config=config, version=2)
        weights = np.full(3, config.pop("weight"), np.float32)
        return replace(state, config=config, arrays={"weights": weights}, version=3)


register("test-ranker", Ranker)


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A folder that the first version of Ranker saved, inside a Box."""
    monkeypatch.setattr(Ranker, "state_version", 1)
    save(Box({"a": 1}, inner=First(seed=7, weight=0.5)), tmp_path / "model")
    monkeypatch.undo()
    return tmp_path / "model"


def test_the_version_is_written_beside_each_object(old):
    root = read_manifest(old).root
    assert (root.version, root.parts["inner"].version) == (1, 1)
    save(load(old), old)
    root = read_manifest(old).root
    assert (root.version, root.parts["inner"].version) == (1, 3)


def test_an_older_state_is_migrated_step_by_step(old):
    ranker = load(old).inner
    assert ranker.random_state == 7
    assert ranker.weights_.tolist() == [0.5, 0.5, 0.5]


def test_parts_are_migrated_before_a_class_that_builds_them_itself(tmp_path, old):
    class Holder(Box):
        @classmethod
        def from_state(cls, state):
            return Ranker.from_state(state.parts["inner"])  # not by `build`

    register("test-holder", Holder)
    state = State("test-holder", parts={"inner": State("test-ranker", FIRST, version=1)})
    assert build(state).random_state == 3


FIRST = {"seed": 3, "weight": 1.0}


def test_a_state_that_was_never_stored_is_current():
    ranker = build(State("test-ranker", FIRST, version=1))
    assert build(ranker.to_state()).weights_.tolist() == [1, 1, 1]
    assert current_version("test-ranker") == 3
    assert current_version("test-box") == current_version("a kind without a class") == 1


def test_a_newer_state_says_upgrade(old, monkeypatch):
    save(load(old), old)
    monkeypatch.setattr(Ranker, "state_version", 2)
    message = r"'test-ranker' was stored in version 3.*up to version 2: run  pip install --upgrade"
    with pytest.raises(StoreError, match=message) as caught:
        load(old)
    assert str(old) in str(caught.value)


def test_a_class_that_does_not_migrate_is_named(monkeypatch):
    monkeypatch.setattr(Ranker, "migrate_state", classmethod(lambda cls, state: state))
    with pytest.raises(StoreError, match="does not migrate 'test-ranker' from version 1 to 3"):
        build(State("test-ranker", FIRST, version=1))
    monkeypatch.delattr(Ranker, "migrate_state")
    with pytest.raises(StoreError, match="does not migrate"):
        build(State("test-ranker", FIRST, version=1))


class Costs(Config):
    """Settings without any field."""


class Picky:
    """Takes its settings from a state in all the ways that classes do."""

    def __init__(self, *, cost: float, depth: int = 1) -> None:
        self.cost, self.depth = cost, depth

    def to_state(self) -> State:
        return State("test-picky", {"settings": {}, "cost": self.cost})

    @classmethod
    def from_state(cls, state: State) -> Picky:
        config = dict(state.config)
        Costs.from_dict(config.pop("settings"))
        return cls(**config)


register("test-picky", Picky)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"settings": {}, "cost": 1.0, "tilt": 2}, "Picky has no setting 'tilt'"),
        ({"settings": {}, "depth": 2}, "Picky needs the setting 'cost'"),
        ({"cost": 1.0}, "'settings' is not there"),
        ({"settings": {"loss": 1}, "cost": 1.0}, "Costs has no setting 'loss'"),
        ({"settings": 7, "cost": 1.0}, "not iterable"),
    ],
)
def test_settings_that_do_not_fit_are_named(tmp_path, config, problem):
    save(State("test-picky", config), tmp_path / "model")
    with pytest.raises(StoreError, match=re.escape(problem)) as caught:
        load(tmp_path / "model")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'model'}, saved by multitudes ")
    assert "kind 'test-picky'" in message
    assert "load it with the version it was saved with, or train again" in message
