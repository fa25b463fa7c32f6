"""The parts of the PRIME benchmark that need no training."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")
pytest.importorskip("transformers")

from benchmarks.prime.contestants import GROUPS, contestant
from benchmarks.prime.figures import curves
from benchmarks.prime.problem import Problem, split, whole_folder
from benchmarks.prime.unseen import hold_out
from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.training import TrainingConfig
from multitudes.encoder.backbone.model import BackboneConfig


def rows(n, first):
    """Texts of one token each, which tells them apart."""
    return TokenRows(np.arange(first, first + n, dtype=np.uint16), np.arange(n + 1))


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    Y, Y_test = ((rng.random((n, 20)) < 0.1).astype(np.float32) for n in (60, 30))
    pairs = np.stack([np.arange(20), np.arange(20)], axis=1)
    return Problem(
        "made up", rows(60, 0), rows(30, 100), rows(20, 200),
        sp.csr_array(Y), sp.csr_array(Y_test), pairs, pairs,
    )  # fmt: skip


def test_held_out_labels_leave_no_trace_in_training(problem):
    found = hold_out(problem, 0.25, random_state=0)
    seen, unseen = found.seen, found.unseen
    assert len(unseen.labels) == 5
    assert set(seen.labels.ids) | set(unseen.labels.ids) == set(problem.labels.ids)
    assert (np.diff(seen.Y.indptr) > 0).all()
    # A text is its own number, so that what became of it can be looked up.
    for part, Y in ((seen, seen.Y), (unseen, unseen.Y)):
        columns = part.labels.ids.astype(int) - 200
        expected = problem.Y.toarray()[part.train.ids.astype(int)][:, columns]
        np.testing.assert_array_equal(Y.toarray(), expected)
    tested = [(part.labels.ids[part.test_pairs[:, 1]] - 200).tolist() for part in (seen, unseen)]
    assert sorted(tested[0] + tested[1]) == list(range(20))
    assert (seen.labels.ids[seen.test_pairs[:, 1]] - 200).tolist() == seen.test_pairs[:, 0].tolist()


def test_examples_have_the_label_and_more_of_them_contain_fewer(problem):
    found = hold_out(problem, 0.25, random_state=0)
    one, five = found.examples(1, random_state=0), found.examples(5, random_state=0)
    by_label = found.unseen.Y.toarray().T > 0
    for few, many, has_label in zip(one, five, by_label, strict=True):
        assert len(few) == min(1, has_label.sum())
        assert len(many) == min(5, has_label.sum())
        assert set(few.ids) <= set(many.ids)
        assert has_label[many.ids.astype(int)].all()


def test_a_folder_in_parts_becomes_whole_again(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.prime.problem.LARGEST", 10)
    content = bytes(range(95))
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "one" / "deep" / "weights.bin").write_bytes(content)
    (tmp_path / "one" / "small.json").write_text("{}")
    split(tmp_path / "one" / "deep" / "weights.bin")
    assert len(list((tmp_path / "one" / "deep").iterdir())) == 10
    whole = whole_folder(tmp_path / "one", tmp_path / "two")
    assert [path.name for path in (whole / "deep").iterdir()] == ["weights.bin"]
    assert (whole / "deep" / "weights.bin").read_bytes() == content
    assert (whole / "small.json").read_text() == "{}"


@pytest.mark.parametrize("name", sorted({name for group in GROUPS.values() for name in group}))
def test_each_contestant_can_be_made(name):
    settings = {"backbone": BackboneConfig(), "training": TrainingConfig(), "batch_size": 77}
    changes = ["loss.gamma_max=0.5", "sampler.positive_weights=uniform"]
    model = contestant(name, **settings, changes=changes)
    assert model.sampler.batch_size == 77
    assert model.sampler.positive_weights == "uniform"
    assert model.loss.gamma_max == 0.5
    assert model.classifier is name.endswith("-w")


def test_curves_are_those_of_a_contestant_that_was_validated():
    validated = [{"epoch": 1, "P@1": 0.1}, {"epoch": 2, "loss": 1.0}, {"epoch": 3, "P@1": 0.3}]
    runs = {
        "text alone, seed 0": validated,
        "text alone, seed 1": validated[:1],
        "prime, seed 0": validated,
    }
    [(epochs, values)] = curves(runs, "text alone", "P@1")
    assert epochs == [1, 3]
    assert values.tolist() == [0.1, 0.3]
