"""The parts of the benchmark of set generation that need no training, and one tiny run."""

import argparse

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks.report import rows_of_runs
from benchmarks.seq2set import latency
from benchmarks.seq2set.__main__ import one_run
from benchmarks.seq2set.contestants import GROUPS, LAMBDAS, contestant, figure5_name
from benchmarks.seq2set.figures import curve, draw
from benchmarks.seq2set.join import joined
from benchmarks.seq2set.large import measured, parse
from benchmarks.seq2set.problem import Problem
from benchmarks.seq2set.tables import over_seeds, summary, tables
from multitudes.deep.training import TrainingConfig
from multitudes.seq2set import WordsConfig
from multitudes.seq2set.words.word_vectors import read_word_vectors


@pytest.fixture
def problem(tmp_path):
    names = ["cat", "dog", "owl"]
    texts = [f"a {names[i % 3]} and a {names[(i * i) % 3]}" for i in range(40)]
    rows = [[name in text for name in names] for text in texts]
    Y = sp.csr_array(np.array(rows, np.float32))
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 2.5\nCat 9 9\nlion 3 3\ndog 0.1 7\n")
    return Problem("made up", texts[:30], texts[30:], names, Y[:30], Y[30:], str(vectors))


def test_prepared_and_loaded(problem, tmp_path):
    problem.save(tmp_path / "prepared")
    again = Problem.load(tmp_path / "prepared")
    assert (again.train, again.test, again.label_texts) == (
        problem.train, problem.test, problem.label_texts
    )  # fmt: skip
    for part in ("Y", "Y_test"):
        expected = getattr(problem, part).toarray()
        np.testing.assert_array_equal(getattr(again, part).toarray(), expected)
    words = ["cat", "dog", "lion", "owl"]
    found = read_word_vectors(again.vectors, words)
    assert found.known.tolist() == [True, True, False, False]  # lions occur nowhere
    np.testing.assert_allclose(found.vectors[:2], [[1, 2.5], [0.1, 7]], rtol=1e-3)


def test_a_tenth_is_kept_aside(problem):
    rest, (texts, Y) = problem.split()
    assert (len(rest.train), len(texts)) == (27, 3)
    assert sorted([*rest.train, *texts]) == sorted(problem.train)
    assert rest.Y.shape[0] == 27
    assert Y.shape[0] == 3


@pytest.mark.parametrize("name", sorted({name for group in GROUPS.values() for name in group}))
def test_each_contestant_can_be_made(name):
    model = contestant(
        name,
        words=WordsConfig(),
        training=TrainingConfig(),
        batch_size=77,
        changes=["network.hidden=32"],
        random_state=5,
    )
    assert (model.batches.batch_size, model.network.hidden, model.random_state) == (77, 32, 5)


def test_settings_follow_a_name():
    settings = {"words": WordsConfig(), "training": TrainingConfig(), "batch_size": 8}
    assert contestant("bm loss.scheme=first-n", **settings).loss.scheme == "first-n"
    for weight in LAMBDAS:
        assert contestant(figure5_name(weight), **settings).loss.transport_weight == weight


def test_a_run_and_its_summary(problem, capsys):
    given = argparse.Namespace(
        max_length=10, dim=None, epochs=2, learning_rate=0.01, precision="float32",
        validate_every=1, batch_size=8, compile="off", validate=False,
        set=["network.hidden=4", "network.layers=1", "training.device=cpu"],
    )  # fmt: skip
    runs = {
        f"{name}, seed 0": one_run(name, problem, given, 0) for name in ("otseq2set", "seq2seq")
    }
    run = runs["otseq2set, seed 0"]
    assert run["words_found"] == run["labels_found"] == 2
    assert len(run["curve"]) == 2
    found = summary("made up", runs, "test")
    assert found["f1_otseq2set"] == run["test"]["micro_f1"]
    assert found["epoch_ratio"] > 0
    tables("made up", runs, "test")
    assert "otseq2set, first-n" in capsys.readouterr().out


def scored(validation, test, scheme=None):
    parts = {"validation": {"micro_f1": validation}, "test": {"micro_f1": test}}
    return {**parts, "scheme": scheme, "epoch_seconds": 1.0}


def test_a_summary_is_over_seeds_and_of_the_scheme_that_validation_prefers():
    runs = {
        "seq2seq, seed 0": scored(50, 40.0),
        "seq2seq, seed 1": scored(52, 44.0),
        "otseq2set, seed 0": scored(60, 70.0, "all"),
        "otseq2set loss.scheme=first-n, seed 0": scored(61, 65.0, "first-n"),
        "otseq2set loss.scheme=first-n, seed 1": scored(61, 67.0, "first-n"),
    }
    assert {row: len(own) for row, own in over_seeds(runs).items()} == {
        ("seq2seq", None): 2, ("otseq2set", "all"): 1, ("otseq2set", "first-n"): 2
    }  # fmt: skip
    found = summary("made up", runs, "test")
    assert (found["f1_seq2seq"], found["f1_otseq2set"]) == (42, 66)


def test_figure_5(tmp_path):
    def run(f1):
        return {"validation": {"micro_f1": f1}}

    runs = {f"{figure5_name(8)}, seed {s}": run(f1) for s, f1 in enumerate((60.0, 62.0))}
    runs[f"{figure5_name(0)}, seed 0"] = run(50.0)
    rows = rows_of_runs(runs)
    assert curve(rows) == ([0, 8], [50.0, 61.0])
    pytest.importorskip("matplotlib")
    assert draw({"one": rows, "two": rows}, tmp_path).stat().st_size > 1000


def test_large_label_sets_in_small():
    sizes = "--labels 50 --words 30 --length 12 --instances 12 --batch-size 4 --bottleneck 4"
    found = measured(parse([*sizes.split(), "--hidden", "4"]), 8.0)
    assert found["weights"] > 50 * 100
    assert found["seconds_per_batch"] > 0


def record(contestant, seed=0, f1=50.0, **settings):
    settings = {"epochs": 3, "contestants": [contestant], **settings}
    rows = rows_of_runs({f"{contestant}, seed {seed}": {"validation": {"micro_f1": f1}}})
    machine = {"commits": ["0123456789"]}
    data = {"made up": "sha256:0"}
    return {"data": data, "card": None, "settings": settings, "rows": rows, "machine": machine}


def test_runs_made_side_by_side_are_joined():
    whole = joined([record("bm"), record("otseq2set", name="another"), record("bm", 1, 60.0)])
    assert list(whole["rows"]) == ["bm, validation", "otseq2set, validation"]
    assert whole["rows"]["bm, validation"]["seeds"] == [0, 1]
    assert whole["rows"]["bm, validation"]["measures"]["micro_f1"]["mean"] == 55
    assert whole["settings"] == {"epochs": 3}
    assert curve(whole["rows"]) == ([8], [50.0])  # a preset stands for its weight


@pytest.mark.parametrize(
    ("second", "said"), [(record("sgm", epochs=4), "settings"), (record("bm"), "two records")]
)
def test_what_cannot_be_joined_is_refused(second, said):
    with pytest.raises(SystemExit, match=said):
        joined([record("bm"), second])


def test_latency_is_measured():
    sizes = ["--labels", "9", "--words", "20", "--instances", "4", "--steps", "3", "--hidden", "4"]
    found = latency.measured(latency.parse([*sizes, "--rounds", "2"]), bottleneck=2)
    assert found["p50_ms"] > 0
    assert found["texts_per_second"] > 0
