"""check_state: called once for each part, before anything is built; errors name folder and part."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest

from multitudes.errors import DataError, MissingExtraError, ResourceError, StoreError
from multitudes.store import Checked, State, build, load, register, save
from multitudes.store.checking import foreign_errors

from .box import Box


class Wheel(Box):
    """A box whose numbers must be below a limit, and which may not hold the same twice."""

    calls: list[str] = []

    def to_state(self) -> State:
        return replace(super().to_state(), kind="test-wheel")

    @classmethod
    def check_state(cls, state: State) -> None:
        cls.calls.append(f"check {state.config['name']}")
        if state.arrays["n"].max() >= state.config["limit"]:
            raise StoreError("a number is too large")

    @classmethod
    def from_state(cls, state: State) -> Wheel:
        cls.calls.append(f"build {state.config['name']}")
        return super().from_state(state)


register("test-wheel", Wheel)


@pytest.fixture(autouse=True)
def _no_calls():
    Wheel.calls.clear()


def wheel(name: str, *, inner: Wheel | None = None, largest: int = 3) -> Wheel:
    return Wheel({"name": name, "limit": 4}, {"n": np.arange(largest + 1)}, inner=inner)


def test_parts_are_checked_before_their_owner_and_all_before_the_first_is_built(tmp_path):
    save(wheel("outer", inner=wheel("inner")), tmp_path / "model")
    load(tmp_path / "model")
    assert Wheel.calls == ["check inner", "check outer", "build outer", "build inner"]
    assert issubclass(Wheel, Checked)
    assert not issubclass(Box, Checked)


def test_an_error_names_folder_part_and_what_to_do(tmp_path):
    model = tmp_path / "model"
    save(Box(inner=wheel("inner", largest=9)), model)
    with pytest.raises(StoreError) as caught:
        load(model)
    assert str(caught.value).startswith(f"{model}, saved by multitudes ")
    assert "part 'inner' of kind 'test-wheel' is damaged: a number is too large; " in str(
        caught.value
    )
    assert "restore a copy" in str(caught.value)


def test_a_changed_copy_of_a_checked_state_is_checked_again():
    state = wheel("one").to_state()
    build(state)
    build(replace(state, arrays={"n": np.arange(2)}))
    assert Wheel.calls.count("check one") == 2
    with pytest.raises(StoreError, match="too large"):
        build(replace(state, arrays={"n": np.arange(9)}))


def test_independent_parts_are_checked_at_the_same_time(monkeypatch):
    meeting = threading.Barrier(2, timeout=20)  # passes only if two threads wait at once
    monkeypatch.setattr(Wheel, "check_state", classmethod(lambda cls, state: meeting.wait()))
    monkeypatch.setattr("multitudes.kernels.threads.available_cores", lambda: 2)
    parts = {name: wheel(name).to_state() for name in ("left", "right")}
    build(State("test-box", parts=parts))


class PanicException(BaseException):
    """As libraries written in Rust raise it."""


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"), TypeError("x"), ValueError("x"), OverflowError("x"), RecursionError("x"),
        RuntimeError("x"), AssertionError("x"), OSError("x"), DataError("x"), StopIteration("x"),
        ZeroDivisionError("x"), UnicodeDecodeError("utf-8", b"x", 0, 1, "x"), PanicException("x"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
@pytest.mark.parametrize("where", ["check_state", "from_state"])
def test_foreign_errors_become_store_errors(tmp_path, monkeypatch, error, where):
    def fail(cls, state):
        raise error

    save(Box(inner=wheel("inner")), tmp_path / "model")
    monkeypatch.setattr(Wheel, where, classmethod(fail))
    with pytest.raises(StoreError, match="'inner' of kind 'test-wheel'") as caught:
        load(tmp_path / "model")
    assert str(caught.value).startswith(str(tmp_path / "model"))


def test_what_is_wrong_with_the_machine_stays_what_it_is():
    for error in (MissingExtraError("x"), ResourceError("x"), KeyboardInterrupt(), SystemExit()):
        with pytest.raises(type(error)), foreign_errors("sentence", "advice"):
            raise error
    with pytest.raises(ResourceError, match="not enough memory"), foreign_errors("s", "a"):
        raise MemoryError("22 GiB")


def test_warnings_are_left_alone():
    with pytest.warns(UserWarning, match="odd"), foreign_errors("sentence", "advice"):
        warnings.warn("odd", stacklevel=1)
