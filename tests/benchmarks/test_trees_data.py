"""The problem that all contestants load."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.trees.contestants.process import load, save_labels, small_problem
from benchmarks.trees.data import export, unit_rows


def write_folder(folder: Path) -> None:
    texts = {"trn": ["red apple", "green pear", "red pear"], "tst": ["green apple", "blue"]}
    for split, titles in texts.items():
        lines = [{"uid": str(i), "title": t, "labels": [i]} for i, t in enumerate(titles)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    labels = [{"uid": name, "title": name} for name in ("a", "b", "c", "d")]
    (folder / "lbl.jsonl").write_text("".join(json.dumps(x) + "\n" for x in labels))


def test_texts_become_matrices_that_agree(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    write_folder(source)
    size = export(source, out, as_text=True)
    assert (size["instances"], size["test_instances"], size["labels"]) == (3, 2, 4)
    X, Y, X_test, Y_test = load(str(out), "X", "Y", "X_test", "Y_test")
    assert X.shape == (3, 4)
    assert X_test.shape == (2, 4)
    assert X_test[1].nnz == 0  # "blue" is not a word of the training texts
    assert Y.indices.tolist() == [0, 1, 2]
    assert Y_test.indices.tolist() == [0, 1]
    assert (out / "train.txt").read_text().startswith("3 4 4\n0 ")


def test_rows_of_length_one_and_empty_rows() -> None:
    X = sp.csr_array(np.array([[3, 4], [0, 0], [0, 2]], np.float32))
    np.testing.assert_allclose(unit_rows(X).toarray(), [[0.6, 0.8], [0, 0], [0, 1]], rtol=1e-6)
    assert X.max() == 4  # untouched


def test_the_warm_up_has_only_labels_that_occur() -> None:
    X = sp.csr_matrix(np.eye(3, dtype=np.float32))
    Y = sp.csr_matrix(np.array([[0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]], np.float32))
    _, few = small_problem(X, Y)
    assert few.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


def test_saved_labels_are_filled_up(tmp_path: Path) -> None:
    save_labels(str(tmp_path / "labels.npy"), [[7, 8], [1, 2, 3, 4, 5, 6]])
    assert np.load(tmp_path / "labels.npy").tolist() == [[7, 8, -1, -1, -1], [1, 2, 3, 4, 5]]
