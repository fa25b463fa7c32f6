"""One seed, one model: bit by bit with any number of threads, up to rounding on any machine."""

from __future__ import annotations

import json

import pytest

from .answers import ANSWERS, CORE, KEPT, TOLERANCE, TOLERANCES, differences
from .machines import MACHINES, missing


@pytest.fixture(scope="module")
def kept():
    return json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CORE)
def test_the_answers_are_those_of_every_machine_with_any_number_of_threads(name, kept):
    one, three = ANSWERS[name](1), ANSWERS[name](3)
    assert differences(name, one, kept[name]) == []
    assert one["digest"] == three["digest"]


@pytest.mark.parametrize("name", sorted(TOLERANCES))
def test_networks_answer_as_on_every_machine_up_to_a_larger_tolerance(name, kept):
    """With several threads torch takes sums in another order."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    for n_jobs in (1, 3):
        assert differences(name, ANSWERS[name](n_jobs), kept[name]) == []


def test_another_answer_is_noticed(kept):
    answer = kept["XRLinear"]
    assert differences("XRLinear", answer, answer) == []
    values = [[score + 2 * TOLERANCE for score in row] for row in answer["values"]]
    assert differences("XRLinear", {**answer, "values": values}, answer) != []
    labels = [[119 - label for label in row] for row in answer["labels"]]
    assert differences("XRLinear", {**answer, "labels": labels}, answer) != []
    assert differences("label tree", {"labels": [1]}, kept["label tree"]) != []


def test_machines_that_cannot_be_played_say_why():
    assert missing("this") is None
    assert all(isinstance(missing(machine), str | None) for machine in MACHINES)
