import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")

import torch

from multitudes.encoder.classifier import (
    ClassifierConfig,
    candidates,
    mine_negatives,
    train_classifier,
)
from multitudes.encoder.sampling import Batch
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.errors import ConfigError, DataError
from multitudes.metrics import precision_at_k
from tests.encoder.vectors import unit


@pytest.fixture(scope="module")
def problem():
    """Embeddings (300, 16), their labels (300, 20 + 5 without instances), and poor prototypes."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((20, 16))
    own = np.stack([np.arange(300) % 20, rng.integers(0, 20, 300)], axis=1)
    H = unit(centers[own].mean(axis=1) + 0.3 * rng.standard_normal((300, 16)))
    Y = sp.csr_array((np.ones(600, np.float32), own.ravel(), np.arange(0, 601, 2)), shape=(300, 25))
    Y.sum_duplicates()
    Y.data[:] = 1
    prototypes = unit(np.concatenate([centers, centers[:5]]) + 1.5 * rng.standard_normal((25, 16)))
    return H, Y, prototypes


SHORT = ClassifierConfig(epochs=8, batch_size=64, learning_rate=0.02, negatives=10)


def test_it_learns_more_than_the_prototypes_knew(problem):
    H, Y, prototypes = problem
    vectors = train_classifier(H, Y, prototypes, config=SHORT)
    before = precision_at_k(PrototypeIndex(prototypes).search(H, 1), Y, k=1)
    after = precision_at_k(PrototypeIndex(vectors).search(H, 1), Y, k=1)
    assert before < 0.8
    assert after > 0.95
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert vectors.dtype == np.float32


def test_the_same_seed_gives_the_same_vectors_and_leaves_its_inputs_alone(problem):
    copies = [part.copy() for part in problem]
    one, two = (train_classifier(*problem, config=SHORT, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(problem[0], copies[0])
    np.testing.assert_array_equal(problem[2], copies[2])


def test_a_label_that_never_comes_up_keeps_its_prototype():
    H = np.eye(4, dtype=np.float32)[[0, 1, 0, 1]]
    Y = sp.csr_array(np.eye(2, 3, dtype=np.float32)[[0, 1, 0, 1]])
    prototypes = np.eye(4, dtype=np.float32)[[1, 0, 3]]  # the two labels are swapped
    config = ClassifierConfig(epochs=20, batch_size=4, learning_rate=0.1, negatives=1)
    vectors = train_classifier(H, Y, prototypes, config=config)
    np.testing.assert_array_equal(vectors[2], prototypes[2])
    assert PrototypeIndex(vectors).search(H[:2], 1).labels.tolist() == [[0], [1]]


def test_the_margin_is_what_ends_the_learning():
    """Positives lead their negatives by 0.4 to begin with: a margin below leaves them alone."""
    angle = np.arccos(0.6)
    H = np.eye(2, dtype=np.float32)[[0, 0]]
    prototypes = np.array([[1, 0], [np.cos(angle), np.sin(angle)]], np.float32)
    Y = sp.csr_array(np.eye(1, 2, dtype=np.float32)[[0, 0]])
    config = ClassifierConfig(epochs=1, batch_size=2, learning_rate=0.01, negatives=1)
    content, pressed = (
        train_classifier(H, Y, prototypes, config=config.replaced(margin=margin))
        for margin in (0.35, 0.45)
    )
    np.testing.assert_array_equal(content, prototypes)
    assert pressed[1, 0] < prototypes[1, 0]


def test_mined_negatives_are_near_and_never_labels_of_the_instance(problem):
    H, Y, prototypes = problem
    mined = mine_negatives(torch.from_numpy(H), Y, torch.from_numpy(prototypes), 25).numpy()
    truth = Y.toarray().astype(bool)
    for row, labels in enumerate(mined):
        found = labels[labels >= 0]
        assert not truth[row, found].any()
        assert len(found) == len(set(found)) == 25 - truth[row].sum()
        assert (np.diff(H[row] @ prototypes[found].T) <= 1e-6).all()


def test_candidates_are_positives_then_negatives_and_empty_places_are_no_negatives():
    batch = Batch(
        instances=np.array([7, 9]),
        labels=np.array([3, 5, 8]),
        positives=np.array([[2, 0], [1, -1]]),
        known_rows=np.array([0, 0, 1]),
        known_columns=np.array([0, 2, 1]),
    )
    labels, positives, known = candidates(batch, torch.tensor([[1, 2], [4, -1]]))
    assert labels.tolist() == [[8, 3, 1, 2], [5, 5, 4, 5]]
    assert positives.tolist() == [[0, 1], [0, -1]]
    assert known.tolist() == [[True, True, False, False], [True, True, False, True]]


def test_more_negatives_than_labels_is_fine(problem):
    config = ClassifierConfig(epochs=1, negatives=1000, positives=50)
    assert train_classifier(*problem, config=config).shape == (25, 16)


def test_bad_input_is_named(problem):
    H, Y, prototypes = problem
    with pytest.raises(DataError, match="both must come from one encoder"):
        train_classifier(H, Y, prototypes[:, :8])
    with pytest.raises(DataError, match="y has 25 labels, but the model has 24"):
        train_classifier(H, Y, prototypes[:24])
    with pytest.raises(ConfigError, match="margin must be <= 2, got 3"):
        ClassifierConfig(margin=3)
