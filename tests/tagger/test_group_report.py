"""What became of the labels of groups."""

from __future__ import annotations

import json

import pytest
import scipy.sparse as sp

from multitudes.data import Dataset
from multitudes.groups.grouped_dataset import groups_to_learn
from multitudes.tagger.reports.group_report import GroupReport

# Instances 0 and 1 are a group, 2 has labels and no group, 3 has neither; 0's own are known.
DATA = Dataset(
    Y=sp.csr_array([[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]),
    texts=list("abcd"),
    groups=sp.csr_array([[1], [1], [0], [0]]),
    group_labels=sp.csr_array([[1, 1, 0]]),
)
ASSIGNED = sp.csr_array([[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]])


@pytest.fixture
def report():
    return GroupReport.of(DATA, *groups_to_learn(DATA), ASSIGNED)


def test_counts_and_accuracy(report):
    assert (report.counts.groups, report.counts.in_no_group) == (2, 1)
    assert (report.n_assigned, report.n_unassigned, report.n_known) == (3, 1, 1)
    assert (report.accuracy, report.chance) == (0.5, 0.5)


def test_for_people(report):
    assert str(report).splitlines() == [
        "2 groups of 1.5 instances, 1.5 labels each",
        "instances in no group, from which nothing is learned: 1",
        "labels assigned to instances: 3",
        "instances of a group that got no label: 1",
        "labels assigned to the 1 instances whose own are known: 50.0% right, 50.0% by chance",
    ]


def test_through_json_and_back(report):
    assert GroupReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_without_known_labels_there_is_nothing_to_compare():
    data = Dataset(
        Y=sp.csr_array((2, 1)),
        texts=["a", "b"],
        groups=sp.csr_array([[1], [1]]),
        group_labels=sp.csr_array([[1]]),
    )
    report = GroupReport.of(data, *groups_to_learn(data), sp.csr_array([[1], [0]]))
    assert report.accuracy is None
    assert "known" not in str(report)
