"""A plan carried out: members that help, deadlines and Ctrl-C, with a clock nobody waits for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset
from multitudes.fusion.members import Member
from multitudes.linear import OneVsAll
from multitudes.tagger.auto.deadline import Deadline, TimeIsUp
from multitudes.tagger.auto.planning import Plan, Planned
from multitudes.tagger.auto.report import AutoReport
from multitudes.tagger.auto.running import Run
from multitudes.tagger.costs.candidates import Candidate
from multitudes.tagger.costs.estimates import Costs
from multitudes.tagger.costs.facts import Facts
from multitudes.types import Predictions

N, N_LABELS = 400, 12
NAMES = ("good", "other", "useless")
WORDS = Candidate("good", "one-vs-all", "tfidf", "the first")
OTHER = Candidate("other", "one-vs-all", "tfidf", "knows the other half")
USELESS = Candidate("useless", "one-vs-all", "tfidf", "knows nothing")


class Clock:
    """Time that passes only when somebody works."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def data():
    """(part, held out, whole) of instances with one label each."""
    ids = np.arange(N) % N_LABELS
    Y = sp.csr_array((np.ones(N, np.float32), (np.arange(N), ids)), shape=(N, N_LABELS))
    whole = Dataset(Y=Y, X=sp.csr_array(np.eye(N_LABELS, dtype=np.float32)[ids]))
    rows = np.random.default_rng(0).permutation(N)
    return whole.take(np.sort(rows[:200])), whole.take(np.sort(rows[200:])), whole


def run(clock, *, budget=100.0, seconds=(1, 1, 1), interrupt=None, interrupt_by=None):
    """A run whose members take some seconds, and are right for different labels."""
    trained = []

    def train(candidate, dataset):
        trained.append((candidate.name, len(dataset)))
        if candidate.name == interrupt:
            raise KeyboardInterrupt
        if candidate.name in (interrupt_by or {}):
            raise interrupt_by[candidate.name]
        clock.now += seconds[NAMES.index(candidate.name)]
        if clock.now > budget:
            raise TimeIsUp
        return Member(candidate.name, OneVsAll())

    def predict(member, dataset):
        truth = dataset.Y.indices.astype(np.int32)
        wrong = (truth + 2 + NAMES.index(member.name)) % N_LABELS
        knows = {"good": truth % 4 != 1, "other": truth % 4 != 2, "useless": truth < 0}
        right = knows[member.name]
        labels = np.stack([np.where(right, truth, wrong), np.where(right, wrong, truth)], axis=1)
        scores = np.where(right[:, None], [[0.9, 0.1]], [[0.3, 0.2]]).astype(np.float32)
        if member.name == "useless":
            labels[:, 1] = (truth + 7) % N_LABELS
        return Predictions(labels.astype(np.int32), scores, N_LABELS)

    facts = Facts(N, N_LABELS, N, 1.0, 0.0, takes_texts=False)
    made = Run(train, predict, facts, Costs(), Deadline(budget, clock))
    return made, trained


def plan(*members, n_held_out=200):
    found = tuple(Planned(one, 1.0, 0.1, 1.0) for one in members)
    return Plan(100.0, n_held_out, found)


def test_members_that_help_are_taken_and_others_left_out(data):
    made, trained = run(Clock())
    model, report = made.several(plan(WORDS, OTHER, USELESS), *data)
    assert [member.name for member in model.members_] == ["good", "other"]
    outcomes = {one.name: one.outcome for one in report.members}
    assert outcomes["good"] == outcomes["other"] == "taken, and trained again on everything"
    assert outcomes["useless"] == "left out, because it did not help"
    assert report.ended == "done"
    assert report.fused.mean > max(one.alone.mean for one in report.members)
    assert all(one.lost_without.mean > 0 for one in report.taken)
    assert [name for name, n in trained if n == N] == ["good", "other"]
    assert model.n_labels_ == N_LABELS


def test_a_single_member_that_helps_is_a_plain_model(data):
    made, _ = run(Clock())
    model, report = made.several(plan(WORDS, USELESS), *data)
    assert isinstance(model, Member)
    assert report.fusion is None
    assert [one.name for one in report.taken] == ["good"]


def test_a_single_model_gives_way_to_a_better_one_if_there_is_time_after_all(data):
    single = Plan(100.0, 0, (Planned(WORDS, 50.0),), (Planned(OTHER, 95.0),))
    made, trained = run(Clock())  # it takes one second, not 50
    model, report = made.single(single, data[2])
    assert model.name == "other"
    assert trained == [("good", N), ("other", N)]
    assert [one.name for one in report.taken] == ["other"]
    assert report.ended == "done"

    made, trained = run(Clock(), seconds=(1, 200, 1))
    model, report = made.single(single, data[2])
    assert model.name == "good"
    assert report.ended == "at the deadline"
    assert [one.name for one in report.taken] == ["good"]

    slow, trained = run(Clock(), seconds=(90, 1, 1))
    slow.costs = Costs(1e9)  # by which nothing fits
    assert slow.single(single, data[2])[0].name == "good"
    assert trained == [("good", N)]


def test_at_the_deadline_it_is_made_of_what_is_ready(data):
    made, trained = run(Clock(), budget=20.0, seconds=(1, 30, 1))
    model, report = made.several(plan(WORDS, OTHER), *data)
    assert isinstance(model, Member)
    assert model.name == "good"
    assert report.ended == "at the deadline"
    assert report.members[-1].outcome == "begun, and not finished in time"
    assert trained == [("good", 200), ("other", 200)], "no time to train again"


def test_a_member_that_takes_far_too_long_is_given_up_for_others(data):
    made, _ = run(Clock(), interrupt_by={"useless": TimeIsUp})
    model, report = made.several(plan(WORDS, USELESS, OTHER), *data)
    assert [member.name for member in model.members_] == ["good", "other"]
    outcomes = {one.name: one.outcome for one in report.members}
    assert outcomes["useless"] == "begun, and not finished in time"
    assert report.ended == "done"


@pytest.mark.parametrize("stopped_at", ["other", "useless"])
def test_ctrl_c_ends_it_with_what_is_ready(data, stopped_at):
    made, _ = run(Clock(), interrupt=stopped_at)
    model, report = made.several(plan(WORDS, OTHER, USELESS), *data)
    assert report.ended == "stopped"
    ready = ["good"] if stopped_at == "other" else ["good", "other"]
    assert [one.name for one in report.taken] == ready
    assert getattr(model, "n_labels_", N_LABELS) == N_LABELS


def test_ctrl_c_before_anything_is_ready_is_an_interruption(data):
    made, _ = run(Clock(), interrupt="good")
    with pytest.raises(KeyboardInterrupt):
        made.several(plan(WORDS, OTHER), *data)


def test_a_slow_first_member_leaves_no_time_for_others(data):
    """The plan is made again with what was learned: 40 times as slow as it was thought."""
    made, trained = run(Clock(), budget=60.0, seconds=(40, 1, 1))
    _, report = made.several(plan(WORDS, OTHER, USELESS), *data)
    assert trained[0] == ("good", 200)
    assert made.costs.correction(OTHER) > 5
    assert report.seconds <= 60
    assert "good" in [one.name for one in report.taken]


def test_validation_data_of_ones_own_is_not_trained_on(data):
    part, held_out, _ = data
    made, trained = run(Clock())
    model, _ = made.several(plan(WORDS, OTHER), part, held_out, part)
    assert trained == [("good", 200), ("other", 200)]
    assert [member.name for member in model.members_] == ["good", "other"]


def test_the_report_survives_json(data):
    import json

    made, _ = run(Clock())
    _, report = made.several(plan(WORDS, OTHER, USELESS), *data)
    again = AutoReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again == report
    assert any("without it the fusion loses" in sentence for sentence in again.sentences())
