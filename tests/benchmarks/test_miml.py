"""Networks over bags: how digits and sentences are put into bags, and what is measured."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks.evidence.of_miml import (
    ALL,
    BAGS,
    CHOSEN,
    DEEP_MIML,
    DIGITS,
    NETWORK,
    RATES,
    TAUS,
    TEXT,
    TEXT_TAUS,
    row,
)
from benchmarks.evidence.study import jobs_of
from benchmarks.miml.digits import class_means, divided
from benchmarks.miml.figures import draw
from benchmarks.miml.measure import measured, searched
from benchmarks.miml.problem import nearest
from benchmarks.miml.sentences import divided as divided_text
from benchmarks.miml.sentences import sentences_of
from benchmarks.report.records import Records

TINY = {**NETWORK, "batch_size": 8, "n_epochs": 2}


def test_every_image_is_in_one_bag_of_each_deal() -> None:
    train = divided(50, 2, 3).train
    assert train.groups.shape == (1200, 48)
    assert (train.groups.sum(axis=1) == 2).all()
    assert (train.groups.sum(axis=0) == 50).all()
    assert (train.Y.sum(axis=1) == 50).all()  # list-merged
    merged = divided(50, 2, 3, merged="sets").train
    assert (merged.groups != train.groups).nnz == 0
    assert set(merged.Y.data) == {1.0}


def test_the_three_parts_are_all_images_and_training_images_have_mean_0() -> None:
    problem = divided(4, 1, 3)
    parts = (problem.train, problem.validation, problem.test)
    assert [len(part.X) for part in parts] == [1200, 240, 357]
    np.testing.assert_allclose(problem.train.X.mean(axis=0), 0, atol=1e-6)
    assert (divided(4, 1, 4).test.X[:5] != problem.test.X[:5]).any()


def test_class_means_are_good_embeddings() -> None:
    assert nearest(class_means(0), divided(4, 1, 0).test) > 80


def test_a_row_is_tested_with_its_own_rate_and_tau() -> None:
    problem = divided(50, 1, 0)
    settings = {**TINY, **row({}, "proportion", "EAGLE", 0.01, 0.3)}
    found = measured(problem, settings, 0)
    assert (found["learning rate"], found["tau"]) == (0.01, 0.3)
    assert searched(problem, settings, 0)["validation accuracy"] == found["validation accuracy"]
    assert found["epoch"] in (1, 2)
    plain = {**TINY, **row({}, "proportion", "Deep-MIML", 0.01)}
    assert measured(problem, plain, 0)["validation accuracy"] != found["validation accuracy"]
    alone = {**BAGS["24 bags of 50"], "alone": True, "label_embeddings": "eagle-0"}
    expected = nearest(problem.embeddings("eagle-0"), problem.test)
    assert measured(problem, alone, 0) == {"accuracy": expected}


def test_a_description_becomes_its_synopsis_and_three_sentences() -> None:
    package = {
        "title": "bc - GNU bc language",
        "content": "It does sums. Any  number of digits too! So it is. Features: * one more fact",
    }
    assert sentences_of(package) == [
        "GNU bc language", "It does sums.", "number of digits too!", "So it is.",
    ]  # fmt: skip


def write(path: Path, records: list[dict[str, object]]) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def test_sentences_of_packages_become_bags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.miml.sentences.N_FEATURES", 8)
    names = [f"use::{n}" for n in range(12)] + ["role::program"]
    write(tmp_path / "lbl.jsonl.xz", [{"title": name} for name in names])
    words = [
        "edits",
        "plays",
        "reads",
        "finds",
        "sorts",
        "draws",
        "mails",
        "scans",
        "burns",
        "chats",
    ]
    for part, count in (("trn", 60), ("tst", 20)):
        packages = [
            {
                "uid": f"{words[n % 10]}-{n}",
                "title": f"{words[n % 10]} - a tool that {words[n % 10]} things",
                "content": f"This program {words[n % 10]} well. It is a tool. "
                + "It has parts." * (n % 3),
                "labels": [n % 10, 12],
            }
            for n in range(count)
        ]
        write(tmp_path / f"{part}.jsonl.xz", packages)
    problem = divided_text(tmp_path, 0)
    n_bags = problem.train.groups.shape[1]
    assert len(problem.train.X) == 4 * n_bags
    assert (problem.train.groups.sum(axis=0) == 4).all()
    assert problem.train.Y.shape == (n_bags, 10)  # neither rare tags nor those of other facets
    assert len(problem.validation.X) == problem.validation.Y.shape[0] > 0
    assert problem.test.Y.shape == (20, 10)
    np.testing.assert_allclose(np.linalg.norm(problem.train.X, axis=1), 1, rtol=1e-5)
    held_out = set(problem.validation.Y.indices)
    assert not held_out & set(problem.train.Y.indices)  # names with one beginning stay together


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert draw(tmp_path).exists()


def best(data: str, prefix: str, values: tuple[float, ...]) -> float:
    """The value with the highest mean validation accuracy over divisions that all values had."""
    record = Records()[f"miml-{'text' if data == TEXT else 'digits'}-search-{data}"]
    found = {value: record.values(f"{prefix} {value:g}", "validation accuracy") for value in values}
    common = set.intersection(*map(set, found.values()))
    assert len(common) >= 3
    # The first, and smallest, of equal ones.
    return max(values, key=lambda value: sum(found[value][seed] for seed in sorted(common)))


@pytest.mark.parametrize("where", CHOSEN)
def test_settings_are_those_that_the_search_found_best(where: str) -> None:
    rate, taus = CHOSEN[where]
    data, prefix, grid = (TEXT, "", TEXT_TAUS) if where == TEXT else (DIGITS, f"{where}, ", TAUS)
    assert rate == best(data, f"{prefix}{DEEP_MIML}, rate", RATES)
    assert RATES[0] < rate < RATES[-1]
    for mask, tau in taus.items():
        assert tau == best(data, f"{prefix}{mask}, tau", grid)


def test_tested_rows_are_not_taken_for_those_of_the_search() -> None:
    names = [
        {job.file_name for job in jobs_of(study, data)} for study in ALL for data in study.data
    ]
    assert sum(map(len, names)) == len(set().union(*names))
