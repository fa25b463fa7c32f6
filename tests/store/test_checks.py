"""Each of the checks that `check_state` is made of: what it lets pass, what it refuses."""

import numpy as np
import pytest

from multitudes.config import Config
from multitudes.errors import StoreError
from multitudes.linear import SolverConfig
from multitudes.store import State, checks

STATE = State(
    "box",
    {"n": 3, "share": 0.5, "on": True, "way": "a", "nothing": None},
    {"items": np.arange(4, dtype=np.int32), "grid": np.ones((2, 3))},
    {"names": ["x", "y"]},
    {"lid": State("lid")},
)


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (lambda: checks.names(STATE, arrays=("items",)), "array 'grid' is not one that it has"),
        (lambda: checks.names(STATE, config=("m",), arrays=STATE.arrays), "strings 'names' is not"),
        (lambda: checks.array(STATE, "other", "int32", (None,)), "array 'other' is not there"),
        (lambda: checks.array(STATE, "items", "int64", (4,)), "items must be int64, got int32"),
        (lambda: checks.array(STATE, "grid", "float64", (2, 4)), r"shape \(2, 4\), got \(2, 3\)"),
        (lambda: checks.array(STATE, "grid", "float64", (None,)), r"shape \(any\), got \(2, 3\)"),
        (lambda: checks.within(np.array([0, 4]), "ids", 4), "ids must be from 0 to 3, got 4 at 1"),
        (lambda: checks.within(np.array([[-1]]), "ids", 4), "ids must be from 0 to 3, got -1 at 0"),
        (lambda: checks.finite(np.array([0, np.nan]), "w"), "w must hold finite numbers, got nan"),
        (lambda: checks.between(np.array([np.nan]), "w", 0, 1), "w must hold numbers from 0 to 1"),
        (lambda: checks.rising(np.array([1, 1, 0]), "w"), "w must not fall, and it does at 2"),
        (lambda: checks.rising(np.array([np.nan, 1]), "w"), "w must not fall"),
        (lambda: checks.starts(np.array([0, 3, 2]), "at", 2), "at must rise from 0 to 2, got 2"),
        (lambda: checks.starts(np.zeros(0, int), "at", 0), "at must rise from 0 to 0, got nothing"),
        (lambda: checks.counts(np.array([3, -1]), "n", 2), "n must be counts that add up to 2"),
        (lambda: checks.counts(np.array([1, 2**63 - 1]), "n", 2), "counts that add up to 2"),
        (lambda: checks.count(STATE, "n", at_most=2), "n must be a whole number from 0 to 2"),
        (lambda: checks.count(STATE, "on"), "on must be a whole number"),
        (lambda: checks.count(State("x", {"n": 10**5000}), "n"), "got a number of 16610 bits"),
        (lambda: checks.number(STATE, "share", at_least=1), "share must be a number from 1 to inf"),
        (lambda: checks.number(State("x", {"a": np.nan}), "a"), "a must be a number"),
        (lambda: checks.flag(STATE, "n"), "n must be True or False, got 3"),
        (lambda: checks.choice(STATE, "way", ("b", "c")), "way must be one of"),
        (lambda: checks.choice(STATE, "on", (1,)), "on must be one of"),
        (lambda: checks.choice(State("x", {"a": []}), "a", ("b",)), "a must be one of"),
        (lambda: checks.part(STATE, "lid", "box"), "lid must be of kind box, got 'lid'"),
        (lambda: checks.part(STATE, "cap", "lid"), "the part 'cap' is not there"),
        (lambda: checks.numbered_parts(STATE, "lid"), "its parts must be lid-0 and so on"),
        (lambda: checks.distinct(["a", "b", "a"], "names"), "names must be distinct, got 'a'"),
        (lambda: checks.same(1, 2, "labels"), "its parts disagree about labels: 1 and 2"),
        (lambda: checks.numbers([1, "2"], "sizes"), "sizes must be some numbers"),
        (lambda: checks.numbers([1], "sizes", n=2), "sizes must be 2 numbers"),
        (lambda: checks.settings(SolverConfig, {"cost": -1}, "solver"), "solver: .*cost must be >"),
        (lambda: checks.settings(SolverConfig, {"cost": np.inf}, "solver"), "a finite number"),
        (lambda: checks.settings(SolverConfig, {"cost": 10**30}, "solver"), "a smaller number"),
        (lambda: checks.settings(SolverConfig, [], "solver"), "solver must be settings by name"),
        (lambda: checks.parameters(State("x", {"z": 1}), Config), "has no setting 'z'"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_said(check, problem):
    with pytest.raises(StoreError, match=problem):
        check()


def test_what_holds_comes_back():
    assert checks.count(STATE, "n", at_least=3, at_most=3) == 3
    assert checks.count(STATE, "nothing", none=True) == 0
    assert checks.number(STATE, "share", at_least=0.5, at_most=0.5) == 0.5
    assert checks.flag(STATE, "on") is True
    assert checks.choice(STATE, "way", ("a", "b")) == "a"
    assert checks.array(STATE, "items", ("int32", "int64"), (None,)) is STATE.arrays["items"]
    assert checks.part(STATE, "lid", ("lid", "cap")) is STATE.parts["lid"]
    checks.names(
        STATE, config=STATE.config, arrays=("items", "grid", "more"), strings=("names",),
        parts=("lid",), optional=("more",),
    )  # fmt: skip
    checks.starts(np.array([0, 0, 2], np.uint64), "at", 2)
    checks.counts(np.zeros(0, np.int32), "n", 0)
    checks.rising(np.array([1, 1, 2]), "w")


def test_a_part_is_named():
    with pytest.raises(StoreError, match="level-1: bias is short"), checks.as_part("level-1"):
        raise StoreError("bias is short")
