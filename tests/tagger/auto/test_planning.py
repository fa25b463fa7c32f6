"""Plans and their costs: what fits, in which order, and what is learned on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.report.records import Records
from benchmarks.report.rows import middle
from multitudes.data import make_catalogue
from multitudes.tagger.auto.planning import n_to_hold_out, planned
from multitudes.tagger.auto.showing import headline, table
from multitudes.tagger.costs import estimates
from multitudes.tagger.costs.candidates import candidates
from multitudes.tagger.costs.estimates import PROBE_SECONDS, SECONDS, Costs, seconds_of_rankers
from multitudes.tagger.costs.facts import Facts

EURLEX = Facts(17_000, 4_000, 109_000, 31.0, 260.0, names_labels=True, n_threads=2)
LARGE = Facts(300_000, 25_000, 1_000_000, 13.0, 104.0, names_labels=True, n_threads=2)
COSTS = Costs(pace=0.5)


def plan(facts, seconds, costs=COSTS, **changes):
    return planned(*candidates(replace(facts, **changes)), facts, costs, seconds=seconds)


def names(found):
    return [one.candidate.name for one in found.members]


def test_a_minute_is_enough_for_several_members_of_a_small_set():
    found = plan(EURLEX, 60)
    assert names(found)[:3] == ["words", "names", "subwords"]
    assert found.n_held_out == 1_700
    assert found.total <= 60
    assert all(one.again > 0 for one in found.members[:3])
    assert found.members[0].candidate.settings == {"overlap": 2}


def test_with_little_time_few_are_held_out_and_nothing_is_trained_again():
    found = plan(EURLEX, 60, costs=Costs(pace=10.0))
    assert found.n_held_out == 850
    assert names(found)[0] == "words"
    assert found.members[0].candidate.settings == {"overlap": 2}
    assert all(one.again == 0 for one in found.members)


def test_the_better_model_alone_goes_before_a_lesser_one_that_nobody_joins():
    fit = COSTS.fit(candidates(LARGE)[0][0], LARGE)
    found = plan(LARGE, 1.2 * fit)
    assert names(found) == ["words"]
    assert found.n_held_out == 0
    assert found.members[0].candidate.settings == {"overlap": 2}


def test_with_a_second_it_is_one_tree_on_everything():
    found = plan(EURLEX, 1.0, costs=Costs(pace=0.25))
    assert names(found) == ["words"]
    assert found.n_held_out == 0
    assert found.members[0].again == 0


def test_without_time_for_anything_it_is_the_cheapest():
    found = plan(LARGE, 0.01)
    assert names(found) == ["words"]
    assert found.members[0].candidate.settings == {}
    assert found.members[0].fit > 0.01


def test_of_large_data_little_is_held_out_and_nothing_trained_again():
    found = plan(LARGE, 120)
    assert found.n_held_out == 5_000
    assert len(found.members) > 1
    assert all(one.again == 0 for one in found.members)


def test_more_time_never_means_fewer_members():
    sizes = [len(plan(EURLEX, seconds).members) for seconds in (1, 5, 20, 60, 300)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] >= 6


def test_a_slower_machine_has_fewer_members():
    quick, slow = plan(EURLEX, 30), plan(EURLEX, 30, costs=Costs(pace=5.0))
    assert len(slow.members) < len(quick.members)


def test_what_there_is_no_time_for_is_said():
    found = plan(EURLEX, 60, extras=frozenset({"deep"}))
    assert "encoder" in [one.candidate.name for one in found.too_long]
    shown = table(found)
    assert "(encoder)" in shown
    assert "no time" in shown
    assert "1,700 instances held out" in headline(found, EURLEX)


def test_an_encoder_joins_where_a_gpu_can_train_it():
    facts = replace(EURLEX, device="cuda", extras=frozenset({"deep"}))
    fast = Costs(pace=0.5, rate=7e14)
    assert "encoder" in names(planned(*candidates(facts), facts, fast, seconds=300))
    without = replace(facts, extras=frozenset())
    assert "encoder" not in names(planned(*candidates(without), without, fast, seconds=300))


def test_members_that_read_labels_need_names_and_members_that_read_texts_need_texts():
    numbered = plan(EURLEX, 600, names_labels=False)
    assert "names" not in names(numbered)
    of_x = plan(EURLEX, 600, takes_texts=False, names_labels=False)
    assert set(names(of_x)) == {"words", "every label", "binary trees"}


@pytest.mark.parametrize(
    ("n", "held_out"),
    [(0, 0), (499, 0), (500, 150), (3_000, 900), (17_000, 1_700), (10**6, 5_000)],
)
def test_how_much_is_held_out(n, held_out):
    assert n_to_hold_out(n) == held_out


def test_estimates_follow_what_members_took():
    words = plan(EURLEX, 60).members[0].candidate
    before = COSTS.fit(words, EURLEX)
    twice = COSTS.learned(words, 2.0, 1.0).learned(words, 2.0, 1.0)
    assert before < twice.fit(words, EURLEX) < 2 * before
    changed = twice.learned(words, 0.5, 1.0)  # the machine is free again
    assert changed.fit(words, EURLEX) < before
    assert COSTS.learned(words, 1e9, 1.0).correction(words) < 20  # it was stopped for a night
    others = {one.name: one for one in candidates(EURLEX)[1]}
    assert twice.fit(others["names"], EURLEX) == COSTS.fit(others["names"], EURLEX)
    assert twice.fit(others["subwords"], EURLEX) > COSTS.fit(others["subwords"], EURLEX)


def test_costs_grow_with_what_they_are_made_of():
    for one in [*candidates(EURLEX)[0], *candidates(EURLEX)[1]]:
        changes = ({"n_instances": 34_000, "n_pairs": 218_000}, {"characters": 520, "words": 62})
        for larger in changes:
            assert COSTS.fit(one, replace(EURLEX, **larger)) > COSTS.fit(one, EURLEX)
            assert COSTS.predict(one, replace(EURLEX, **larger), 1_000) >= COSTS.predict(
                one, EURLEX, 1_000
            )
    assert seconds_of_rankers(10, 10, 5.0) < 1e-3


def test_the_constants_are_those_of_the_record():
    rows = Records()["auto_costs"].rows
    found, whole = (
        {name: middle(one) for name, one in rows[row]["measures"].items()}
        for row in ("CPU seconds per unit", "all rows")
    )
    assert found.items() <= SECONDS.items()
    assert SECONDS.keys() - found.keys() == {"lexical"}
    assert whole["probe_seconds"] == PROBE_SECONDS
    assert whole["worst_ratio"] < 5, "an estimate within a factor of 5, whatever the data"


def test_facts_are_those_of_the_data():
    data = make_catalogue(400, n_labels=30, random_state=1).dataset
    facts = Facts.of(data, n_jobs=2, device="cpu")
    assert (facts.n_instances, facts.n_pairs, facts.n_threads) == (400, data.Y.nnz, 2)
    assert facts.takes_texts
    assert facts.names_labels
    assert 3 < facts.words < 40
    assert facts.words < facts.characters
    numbered = replace_names(data, [str(i) for i in range(30)])
    assert not Facts.of(numbered, device="cpu").names_labels
    addresses = replace_names(data, [f"https://example.org/{i}" for i in range(30)])
    assert not Facts.of(addresses, device="cpu").names_labels


def replace_names(data, names):
    from multitudes.data import Dataset

    return Dataset(Y=data.Y, texts=data.texts, label_names=names)


def test_every_kind_of_ranker_has_its_constant():
    for one in [*candidates(EURLEX)[0], *candidates(EURLEX)[1]]:
        assert one.model == "prime" or estimates.kind_of(one) in SECONDS
