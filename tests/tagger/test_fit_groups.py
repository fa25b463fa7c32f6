"""A tagger that learns from the labels of groups."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, LabelSpace, make_catalogue, relabel, split
from multitudes.disentangle import Disentangled
from multitudes.errors import ConfigError, DataError
from multitudes.features import HashingFeatures
from multitudes.groups import Eagle
from multitudes.groups.grouped_dataset import features_of, grouped_dataset
from multitudes.groups.making import random_groups
from multitudes.linear import OneVsAll, XRLinear
from multitudes.tagger import Tagger, evaluate_dataset
from multitudes.tagger.assembly import describe_group_settings


@pytest.fixture(scope="module")
def parts():
    return split(
        make_catalogue(2_000, n_labels=200, random_state=1).dataset, test_size=0.2, random_state=1
    )


@pytest.fixture(scope="module")
def grouped(parts):
    return grouped_dataset(parts[0], random_groups(len(parts[0]), 3, random_state=0))


@pytest.fixture(scope="module")
def tagger(grouped):
    return Tagger("xr-linear", random_state=3, n_jobs=1).fit(grouped)


def test_it_learns_nearly_as_well_as_from_instances(tagger, parts):
    direct = Tagger("xr-linear", random_state=3).fit(parts[0])
    found, possible = (evaluate_dataset(one, parts[1])["P@1"] for one in (tagger, direct))
    assert found > possible - 0.15
    assert found > 0.5


def test_the_model_is_the_one_inside_and_the_report_says_how_it_was_taught(tagger, grouped):
    assert isinstance(tagger.model_, XRLinear)
    assert tagger.choice_ == "xr-linear, as asked for; learned from groups"
    report = tagger.group_report_
    assert report.counts.memberships == len(grouped)
    assert report.n_assigned > 0
    assert report.accuracy is None


def test_it_comes_back_from_disk(tagger, parts, tmp_path):
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m", verify=True)
    texts = parts[1].texts[:20]
    assert again.predict(texts) == tagger.predict(texts)
    assert again.group_report_ == tagger.group_report_


def test_known_labels_are_compared_and_not_learned_from(tagger, parts, grouped):
    known = dataclasses.replace(grouped, Y=parts[0].Y)
    compared = Tagger("xr-linear", random_state=3, n_jobs=1).fit(known, from_groups=True)
    texts = parts[1].texts[:50]
    assert compared.predict(texts) == tagger.predict(texts)
    report = compared.group_report_
    assert report.n_known == int((np.diff(parts[0].Y.indptr) > 0).sum())
    assert report.accuracy > 1.5 * report.chance


def test_instances_with_labels_are_learned_from_directly_unless_asked(parts, grouped):
    known = dataclasses.replace(grouped, Y=parts[0].Y)
    tagger = Tagger("xr-linear", random_state=3).fit(known)
    direct = Tagger("xr-linear", random_state=3).fit(parts[0])
    assert tagger.group_report_ is None
    assert tagger.predict(parts[1].texts[:20]) == direct.predict(parts[1].texts[:20])


def test_settings_reach_eagle_and_the_model_inside(grouped):
    settings = {"groups.n_steps": 0, "max_leaf_size": 20, "overlap": 2, "rounds": 1}
    tagger = Tagger("xr-linear", settings=settings, random_state=3)
    tagger.check()
    tagger.fit(grouped)
    assert isinstance(tagger.model_, Disentangled)
    assert tagger.model_.model.max_leaf_size == 20
    assert tagger.senses(tagger.classes_[0])
    plain = Tagger("xr-linear", settings={**settings, "groups.n_steps": 20}, random_state=3)
    assert plain.fit(grouped).predict(grouped.texts) != tagger.predict(grouped.texts)


def test_every_setting_is_described():
    rows = describe_group_settings()
    names = [name for name, _, _ in rows]
    assert {"groups.n_steps", "groups.step", "groups.rounds"} <= set(names)
    assert not {"groups.model", "groups.random_state", "groups.n_jobs"} & set(names)
    assert [name for name, _, sentence in rows if not sentence] == []
    values = {name: value for name, value, _ in rows}
    assert (values["groups.n_steps"], values["groups.contrast"]) == ("auto", True)


def test_a_tagger_assigns_better_than_the_paper_at_no_cost(parts, grouped):
    known = dataclasses.replace(grouped, Y=parts[0].Y)
    papers = {"groups.n_steps": 20, "groups.contrast": False, "groups.use_counts": False}
    ours, paper = (
        Tagger("xr-linear", settings=settings).fit(known, from_groups=True)
        for settings in (None, papers)
    )
    assert ours.group_report_.accuracy > paper.group_report_.accuracy


def test_lists_and_a_mapping(parts, grouped):
    groups = [grouped.group_names_of(i) for i in range(len(grouped))]
    labels = {}
    for g in range(grouped.groups.shape[1]):
        row = grouped.group_labels[[g]].tocoo()
        ids = np.repeat(row.coords[1], row.data.astype(int)).tolist()
        labels[str(g)] = [grouped.label_names[label] for label in ids]
    listed = Tagger("xr-linear", random_state=3).fit_groups(grouped.texts, groups, labels)
    same_order = relabel(grouped, LabelSpace(sorted({n for row in labels.values() for n in row})))
    other = Tagger("xr-linear", random_state=3).fit(same_order)
    assert listed.classes_ == other.classes_
    assert listed.predict(parts[1].texts) == other.predict(parts[1].texts)


def test_features_instead_of_texts(grouped):
    numbers = Dataset(
        Y=grouped.Y,
        X=features_of(grouped),
        groups=grouped.groups,
        group_labels=grouped.group_labels,
    )
    tagger = Tagger("one-vs-all").fit(numbers)
    assert isinstance(tagger.model_, OneVsAll)
    assert tagger.predict(numbers.X[:1], top_k=1)[0]


@pytest.mark.parametrize("given", [OneVsAll(), Eagle(OneVsAll(), n_steps=0)])
def test_a_given_estimator_is_wrapped_once(grouped, given):
    tagger = Tagger(given).fit(grouped)
    assert isinstance(tagger.model_, OneVsAll)


def test_mixed_data_learns_from_both(parts):
    train = parts[0]
    half = len(train) // 2
    groups = random_groups(len(train), 3, random_state=0).tolil()
    groups[half:] = 0  # the second half has labels of its own
    groups = sp.csr_array(groups)
    grouped = grouped_dataset(train, groups)
    Y = train.Y.tolil()
    Y[:half] = 0
    mixed = dataclasses.replace(grouped, Y=sp.csr_array(Y))
    tagger = Tagger("xr-linear").fit(mixed, from_groups=True)
    labeled = int((np.diff(mixed.Y.indptr) > 0).sum())
    assert tagger.group_report_.counts.groups == groups.shape[1] + labeled
    assert tagger.group_report_.n_known == 0
    assert evaluate_dataset(tagger, parts[1])["P@1"] > 0.5


def test_bad_input(parts, grouped):
    with pytest.raises(ConfigError, match=r"'groups.n_steps' is about labels .* leave it out"):
        Tagger("xr-linear", settings={"groups.n_steps": 0}).fit(parts[0])
    with pytest.raises(ConfigError, match=r"did you mean 'groups.n_steps'"):
        Tagger("xr-linear", settings={"groups.nsteps": 0}).check()
    with pytest.raises(ConfigError, match="Eagle learns from the labels of groups"):
        Tagger(Eagle(XRLinear())).fit(parts[0])
    with pytest.raises(DataError, match="there are no labels of groups"):
        Tagger("xr-linear").fit(parts[0], from_groups=True)
    lost = dataclasses.replace(grouped, groups=sp.csr_array(grouped.groups.shape))
    with pytest.raises(DataError, match="no instance names a group"):
        Tagger("xr-linear").fit(lost)
    empty = dataclasses.replace(grouped, group_labels=sp.csr_array(grouped.group_labels.shape))
    with pytest.raises(DataError, match="lists a label"):
        Tagger("xr-linear").fit(empty)


def test_oddities_are_counted(grouped):
    groups = grouped.groups.tolil()
    groups[:5] = 0
    odd = dataclasses.replace(
        grouped,
        groups=sp.csr_array(sp.hstack([groups, sp.csr_array((len(grouped), 1))], format="csr")),
        group_labels=sp.csr_array(
            sp.vstack([grouped.group_labels, grouped.group_labels[[0]]], format="csr")
        ),
    )
    counts = Tagger("xr-linear").fit(odd).group_report_.counts
    assert counts.in_no_group == 5
    assert counts.empty >= 1
    assert counts.empty_listed >= grouped.group_labels[[0]].nnz


def test_instances_in_no_group_teach_nothing(grouped):
    """One-vs-all would take a row without labels for a negative of every label.

    Hashed words do not depend on the texts that are learned from.
    """
    groups = grouped.groups.tolil()
    groups[::2] = 0
    some = dataclasses.replace(grouped, groups=sp.csr_array(groups))
    tagger = Tagger("one-vs-all", features=HashingFeatures()).fit(some)
    alone = Tagger("one-vs-all", features=HashingFeatures()).fit(some[1::2])
    assert tagger.predict(grouped.texts[:50]) == alone.predict(grouped.texts[:50])
    assert tagger.group_report_.counts.in_no_group == len(grouped) // 2
    assert tagger.group_report_.n_assigned == alone.group_report_.n_assigned
