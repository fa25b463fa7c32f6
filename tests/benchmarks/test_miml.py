"""`benchmarks.miml`: the digits are dealt as it says, and the summary adds up."""

import numpy as np
import pytest

from benchmarks.miml import (
    SETTINGS,
    Plan,
    Setting,
    class_means,
    divided,
    nearest,
    study,
    summary,
)

TINY = Setting("tiny", size=50, deals=2, batch_size=8, n_epochs=1)


def test_every_image_is_in_one_bag_of_each_deal():
    data = divided(TINY, random_state=3)
    assert data.groups.shape == (1200, 48)
    assert (data.groups.sum(axis=1) == 2).all()
    assert (data.groups.sum(axis=0) == 50).all()
    assert (data.group_labels.sum(axis=1) == 50).all()  # list-merged


def test_the_three_parts_are_all_images_and_training_images_have_mean_0():
    data = divided(SETTINGS[0], random_state=3)
    assert [len(part.X) for part in data[:3]] == [1200, 240, 357]
    np.testing.assert_allclose(data.train.X.mean(axis=0), 0, atol=1e-6)
    assert (divided(SETTINGS[0], random_state=4).test.X[:5] != data.test.X[:5]).any()


def test_the_true_means_are_good_embeddings():
    data = divided(SETTINGS[0], random_state=0)
    assert nearest(class_means(data), data.test) > 80


def test_summary_of_a_tiny_study():
    plan = Plan(seeds=2, settings=(TINY,), learning_rates=(0.01,), taus=(0.1,))
    found = summary(study(TINY, plan))
    assert found["bags"] == 48
    runs = found["networks"]["counts"]
    assert found["counts_eagle"] == pytest.approx(np.mean(runs["EAGLE"]))
    gains = np.subtract(runs["EAGLE"], runs["Deep-MIML"])
    assert found["counts_eagle_gain"] == pytest.approx(gains.mean())
    # The t quantile of one degree of freedom, times the standard error of two values.
    assert found["counts_eagle_gain_margin"] == pytest.approx(12.7062 * abs(np.ptp(gains)) / 2)
