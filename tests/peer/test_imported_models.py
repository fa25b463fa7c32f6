"""Models that PECOS and omikuji train here, imported: the same labels, scores and order.

`tests/interchange` does the same with small models that are kept in the repository.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.interchange import import_model
from tests.interchange.comparing import assert_same, expected_of
from tests.interchange.libraries import (
    OMIKUJI_CASES,
    OMIKUJI_SCRIPT,
    PECOS_CASES,
    PECOS_SCRIPT,
    PEERS,
    TEXT_CASES,
    TEXT_SCRIPT,
    generated,
    run,
    save_lines,
    save_matrices,
    save_texts,
)

N_TRAIN, N_TEST, N_FEATURES, N_LABELS = 500, 300, 60, 70


def needs(library):
    folder = PEERS / library
    return pytest.mark.skipif(
        not folder.is_dir(), reason=f"{library} is not installed in {folder}: run make peers"
    )


@pytest.fixture(scope="module")
def matrices():
    X, Y = generated(N_TRAIN, N_FEATURES, N_LABELS)
    X_test, _ = generated(N_TEST, N_FEATURES, N_LABELS, seed=1)
    empty = sp.csr_array((1, N_FEATURES), dtype=np.float32)
    return X, Y, sp.csr_array(sp.vstack([X_test, empty]))


@pytest.fixture(scope="module")
def from_pecos(tmp_path_factory, matrices):
    folder = tmp_path_factory.mktemp("pecos")
    save_matrices(folder, *matrices)
    run("pecos", PECOS_SCRIPT, folder, PECOS_CASES)
    return folder


@pytest.fixture(scope="module")
def from_text2text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text2text")
    save_texts(folder, 200, 30, 40)
    run("pecos", TEXT_SCRIPT, folder, TEXT_CASES)
    return folder


@pytest.fixture(scope="module")
def from_omikuji(tmp_path_factory, matrices):
    folder = tmp_path_factory.mktemp("omikuji")
    save_matrices(folder, *matrices)
    save_lines(folder / "train.txt", *matrices[:2])
    run("omikuji", OMIKUJI_SCRIPT, folder, OMIKUJI_CASES)
    return folder


def assert_imported(folder, given, n_labels):
    expected = expected_of(folder)
    tagger = import_model(folder / "model", labels=[f"label {i}" for i in range(n_labels)])
    listed = int(np.diff(expected.indptr).max())
    assert_same(tagger.predict_ids(given, top_k=listed), expected)
    return tagger


@needs("pecos")
@pytest.mark.parametrize("case", PECOS_CASES)
def test_pecos(from_pecos, matrices, case):
    assert_imported(from_pecos / case, matrices[2], N_LABELS)


@needs("omikuji")
@pytest.mark.parametrize("case", OMIKUJI_CASES)
def test_omikuji(from_omikuji, matrices, case):
    assert_imported(from_omikuji / case, matrices[2], N_LABELS)


@needs("pecos")
@pytest.mark.parametrize("case", TEXT_CASES)
def test_text2text(from_text2text, case):
    texts = (from_text2text / "texts.txt").read_text(encoding="utf-8").split("\n")
    tagger = assert_imported(from_text2text / case, texts, 30)
    expected = sp.load_npz(from_text2text / case / "X.npz")
    np.testing.assert_allclose(
        tagger.features_.transform(texts).toarray(), expected.toarray(), atol=1e-6
    )
