"""Which way of fusion is taken, and what the report says of it."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.errors import ConfigError, DataError
from multitudes.fusion import (
    CalibratedFusion,
    FusionReport,
    LearnedFusion,
    RankFusion,
    TreesConfig,
    choosing,
)
from multitudes.fusion.choosing import ENOUGH, HeldOut, learned_fusion, made_fusion, out_of_fold
from multitudes.fusion.lists import checked_lists
from multitudes.metrics import ndcg_at_k
from tests.fusion.problems import COUNTS, N_LABELS, two_members


def held_out(n, **names):
    lists, Y = two_members(n)
    texts = {"texts": None, "label_texts": None, **names}
    return HeldOut(checked_lists(lists), Y.tocsr(), COUNTS.astype(np.float32), **texts)


def test_fusions_are_made_by_name_or_copied():
    assert made_fusion("rank") == RankFusion()
    assert made_fusion("calibrated") == CalibratedFusion()
    assert made_fusion("learned") == LearnedFusion(random_state=0)
    assert made_fusion("learned", random_state=3) == LearnedFusion(random_state=3)
    mine = RankFusion(constant=7.0).untrained(2, 5)
    copy = made_fusion(mine)
    assert copy == mine != RankFusion()
    assert not hasattr(copy, "weights_")
    for other in ("average", 3, None, RankFusion):
        with pytest.raises(ConfigError, match=r"\['auto', 'rank', 'calibrated', 'learned'\]"):
            made_fusion(other)


def test_fusions_with_the_same_settings_are_equal():
    assert RankFusion() == RankFusion()
    assert RankFusion() != RankFusion(by_frequency=False)
    assert RankFusion() != CalibratedFusion()
    assert repr(RankFusion(constant=2)) == "RankFusion(constant=2, weights=None, by_frequency=True)"


@pytest.mark.parametrize("fusion", ["auto", "rank", RankFusion(constant=5.0)])
def test_with_few_instances_nothing_is_learned(fusion):
    few = held_out(ENOUGH - 1)
    found, report = learned_fusion(fusion, few, ["a", "b"])
    assert found == (fusion if isinstance(fusion, RankFusion) else RankFusion())
    assert found.weights_.table.tolist() == [[0.5, 0.5]]
    assert (found.n_members_, found.n_labels_) == (2, N_LABELS)
    assert report == FusionReport("rank", 0, {}, {})
    enough = held_out(ENOUGH)
    found, report = learned_fusion(fusion, enough, ["a", "b"])
    assert report.n_held_out == ENOUGH
    without_label = enough.Y.copy()
    without_label.data[: without_label.indptr[1]] = 0
    without_label.eliminate_zeros()
    short = HeldOut(enough.lists, without_label, enough.counts, None, None)
    assert learned_fusion(fusion, short, ["a", "b"])[1].n_held_out == 0


@pytest.mark.parametrize("fusion", ["learned", "calibrated", LearnedFusion()])
def test_what_must_be_learned_is_refused_with_few_instances(fusion):
    with pytest.raises(DataError, match=rf"^{ENOUGH - 1} held-out instances .*\({ENOUGH} are need"):
        learned_fusion(fusion, held_out(ENOUGH - 1), ["a", "b"])


@pytest.mark.parametrize(
    ("rank", "calibrated", "learned", "best"),
    [
        (0.5, 0.4, 0.6, "learned"),
        (0.6, 0.4, 0.5, "rank"),
        (0.5, 0.4996, 0.1, "calibrated"),  # its scores are probabilities
        (0.5, 0.4994, 0.1, "rank"),
        (0.1, 0.4996, 0.5, "calibrated"),
        (0.5, 0.4, 0.5, "rank"),  # the simpler one
        (0.0, 0.0, 0.0, "calibrated"),
    ],
)
def test_auto_takes_the_best_unless_calibrated_is_about_as_good(
    rank, calibrated, learned, best, monkeypatch
):
    worth = {"rank": rank, "calibrated": calibrated, "learned": learned}
    monkeypatch.setattr(choosing, "_cross_validated", lambda name, *rest: worth[name])
    given = held_out(60)
    fusion, report = learned_fusion("auto", given, ["a", "b"])
    assert (report.fusion, report.fusions) == (best, worth)
    assert fusion.kind == f"{best}-fusion"
    alone = [ndcg_at_k(one, given.Y, k=5) for one in given.lists.members]
    assert report.members == dict(zip("ab", alone, strict=True))


@pytest.mark.parametrize("fusion", ["rank", RankFusion(constant=0.5)])
def test_a_fusion_that_is_asked_for_is_taken(fusion):
    found, report = learned_fusion(fusion, held_out(80), ["a", "b"])
    assert found == made_fusion(fusion)
    assert (report.fusion, list(report.fusions)) == ("rank", ["rank"])
    expected = choosing._cross_validated(fusion, held_out(80), 0)
    assert report.fusions["rank"] == expected > 0


def test_each_half_is_fused_by_what_was_learned_on_the_other():
    given = held_out(121)
    found = out_of_fold(RankFusion(), given, top_k=4)
    order = np.random.default_rng(0).permutation(121)
    halves = np.sort(order[::2]), np.sort(order[1::2])
    for here, there in (halves, halves[::-1]):
        fusion = RankFusion().fit(given.lists.take(there).members, given.Y[there],
                                  label_counts=COUNTS)  # fmt: skip
        expected = fusion.fuse(given.lists.take(here).members, top_k=4)
        np.testing.assert_array_equal(found[here].labels, expected.labels)
        np.testing.assert_array_equal(found[here].scores, expected.scores)
    assert out_of_fold(RankFusion(), given, top_k=1000).shape == (121, N_LABELS)
    again = out_of_fold(LearnedFusion(), given, top_k=4, random_state=0)
    np.testing.assert_array_equal(out_of_fold(LearnedFusion(), given, top_k=4).scores, again.scores)
    other = out_of_fold(LearnedFusion(), given, top_k=4, random_state=1)
    assert (again.scores != other.scores).any()


def test_texts_go_with_their_instances():
    texts = [f"text {row}" for row in range(60)]
    names = [f"label {number}" for number in range(N_LABELS)]
    few_trees = TreesConfig(n_trees=2, min_leaf=1)
    some = held_out(60, texts=texts, label_texts=names).take(np.array([3, 50]))
    assert (some.texts, some.label_texts) == (["text 3", "text 50"], names)
    assert len(some.lists) == some.Y.shape[0] == 2
    assert held_out(60).take(np.array([3])).texts is None
    fusion = some.take(np.array([0, 1])).learned(LearnedFusion(trees=few_trees))
    assert fusion.names_ is not None
    assert some.fused(fusion, 3).shape == (2, 3)
    assert fusion.log_counts_.tolist() == np.log1p(COUNTS.astype(np.float32)).tolist()


def test_a_half_with_nothing_to_learn_from_is_worth_nothing():
    lists, Y = two_members(60)
    nothing = Y.copy()
    nothing.data[:] = 0
    given = HeldOut(checked_lists(lists), nothing, COUNTS.astype(np.float32), None, None)
    assert choosing._cross_validated("learned", given, 0) == 0


def test_ways_are_compared_on_some_instances_of_many(monkeypatch):
    monkeypatch.setattr(choosing, "COMPARED", 40)
    seen = []

    def out_of_fold(fusion, some, *, top_k, random_state):
        seen.append((len(some.lists), some.Y.shape[0], top_k, random_state))
        return some.lists.members[0]

    monkeypatch.setattr(choosing, "out_of_fold", out_of_fold)
    given = held_out(100)
    worth = choosing._cross_validated("rank", given, 3)
    assert seen == [(40, 40, 5, 3)]
    rows = np.sort(np.random.default_rng(3).permutation(100)[:40])
    assert worth == ndcg_at_k(given.lists.members[0][rows], given.Y[rows], k=5)


def test_the_report_in_words():
    assert str(FusionReport("rank")) == "fused by rank, without anything learned"
    report = FusionReport("learned", 1234, {"a": 0.5, "b": 0.25}, {"rank": 0.6, "learned": 0.75})
    assert str(report) == (
        "fusion is learned, by nDCG@5 on 1,234 held-out instances: rank 60.00, learned 75.00; "
        "members alone: a 50.00, b 25.00"
    )
