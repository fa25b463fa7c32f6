"""PRIME on a slice of real descriptions: its lead over the encoder it is built upon."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from multitudes.data import ReadOptions, read_dataset
from multitudes.deep.training import TrainingConfig
from multitudes.encoder import BackboneConfig, prime_preset
from multitudes.metrics import precision_at_k, recall_at_k

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="module")
def packages(shared_data):
    """3,000 packages, the labels that two of them have, and test packages that have some."""
    source = shared_data("debian-deps")
    train = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=train, options=ReadOptions(split="tst"))
    rng = np.random.default_rng(0)
    rows, test_rows = (
        np.sort(rng.permutation(len(part.texts))[:n]) for part, n in ((train, 3000), (test, 1500))
    )
    Y = train.Y[rows]
    labels = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]) >= 2)
    test_rows = test_rows[np.diff(test.Y[test_rows][:, labels].indptr) > 0]
    names = train.label_texts or train.label_names
    return (
        [train.texts[row] for row in rows],
        Y[:, labels],
        [names[label] for label in labels],
        [test.texts[row] for row in test_rows],
        test.Y[test_rows][:, labels],
    )


def measured(preset, packages, seed):
    """P@5 and R@100 in percent of a small encoder that knows nothing before training."""
    texts, Y, names, test_texts, Y_test = packages
    model = prime_preset(preset).set_params(
        backbone=BackboneConfig(
            name="scratch",
            max_length=24,
            label_max_length=8,
            scratch_layers=1,
            scratch_dim=64,
            scratch_vocabulary=4096,
        ),
        sampler__batch_size=256,
        sampler__positives=1,
        sampler__positive_weights="uniform",
        training=TrainingConfig(
            epochs=4, learning_rate=5e-3, warmup_steps=10, precision="float32", device="cpu"
        ),
        precision="float32",
        random_state=seed,
    )
    found = model.fit(texts, Y, label_texts=names).predict(test_texts, top_k=100)
    return np.array(
        [100 * precision_at_k(found, Y_test, k=5), 100 * recall_at_k(found, Y_test, k=100)]
    )


@pytest.mark.filterwarnings("ignore:.*texts are longer")
def test_prime_is_before_dexa(packages):
    """Five seeds gained 3.8 to 4.7 points of P@5 and 4.9 to 9.0 of R@100; the mean of two must
    keep half of that. Positives are drawn alike. P@1 gains too, but varies with the seed.
    """
    gains = [
        measured("prime", packages, seed) - measured("dexa", packages, seed) for seed in range(2)
    ]
    p5, r100 = np.mean(gains, axis=0)
    assert p5 > 2
    assert r100 > 3
