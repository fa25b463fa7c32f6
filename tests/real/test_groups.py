"""Learning from the labels of groups of real titles: what the paper finds, and what we add.

What takes long is on a part of the training data; margins are about half of what was measured.
"""

from __future__ import annotations

import pytest

from multitudes.data import ReadOptions, read_dataset
from multitudes.features import TfidfFeatures
from multitudes.groups import (
    Eagle,
    clustered_groups,
    impute,
    merge_labels,
    random_groups,
    spread,
)
from multitudes.groups.accuracy import imputation_accuracy
from multitudes.linear import XRLinear
from multitudes.metrics import precision_at_k

pytestmark = pytest.mark.real

CONTRASTING = {"n_steps": "auto", "contrast": True, "use_counts": True}
N_INSTANCES = 6000


@pytest.fixture(scope="module")
def titles(shared_data):
    """X, Y, X_test, Y_test of eurlex-titles."""
    source = shared_data("eurlex-titles")
    train = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=train, options=ReadOptions(split="tst"))
    features = TfidfFeatures()
    return features.fit_transform(train.texts), train.Y, features.transform(test.texts), test.Y


@pytest.fixture(scope="module")
def part(titles):
    """The same, with a third of the training data."""
    X, Y, X_test, Y_test = titles
    return X[:N_INSTANCES], Y[:N_INSTANCES], X_test, Y_test


def precision(model, titles, k):
    _, _, X_test, Y_test = titles
    return 100 * precision_at_k(model.predict(X_test), Y_test, k=k)


def test_imputing_beats_all_labels_for_all_members(titles):
    """Groups of 4: baseline, then EAGLE-0, then EAGLE, at P@1 and at P@5."""
    X, Y, _, _ = titles
    groups = random_groups(X.shape[0], 4)
    labels = merge_labels(Y, groups)
    start, eagle = (impute(X, groups, labels, n_steps=n) for n in (0, 20))
    assert imputation_accuracy(start, Y).precision + 0.05 < imputation_accuracy(eagle, Y).precision
    models = [XRLinear().fit(X, one) for one in (spread(groups, labels), start.Y, eagle.Y)]
    for k in (1, 5):
        baseline, without_steps, with_steps = (precision(model, titles, k) for model in models)
        assert baseline + 1 < without_steps < with_steps - 0.5


def test_contrast_and_rounds_close_most_of_the_gap(part):
    """Groups of 10, where the paper's method loses to the baseline at P@5."""
    X, Y, _, _ = part
    groups = random_groups(X.shape[0], 10)
    labels = merge_labels(Y, groups)
    oracle = precision(XRLinear().fit(X, Y), part, 5)
    plain, contrast, rounds = (
        precision(Eagle(XRLinear(), **options).fit(X, groups, labels), part, 5)
        for options in ({}, CONTRASTING, {**CONTRASTING, "rounds": 2})
    )
    assert (contrast - plain) / (oracle - plain) > 0.6
    assert rounds > contrast + 0.5


def test_narrowing_makes_up_for_much_of_what_sets_lose(part):
    """Clusters of about 47, from lists and from sets: contrast, and narrowing from sets."""
    X, Y, _, _ = part
    groups = clustered_groups(X, 7)
    lists, sets = (merge_labels(Y, groups, as_counts=counts) for counts in (True, False))
    counted, plain, narrowed = (
        precision(Eagle(XRLinear(), **CONTRASTING, rounds=rounds).fit(X, groups, labels), part, 1)
        for labels, rounds in ((lists, 0), (sets, 0), (sets, "narrow"))
    )
    assert plain + 6 < narrowed < counted - 6
