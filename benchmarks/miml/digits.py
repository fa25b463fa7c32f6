"""The digits that come with scikit-learn, in bags: what MNIST is in section 7.3 of the paper.

1,797 images of 8 x 8 pixels: 1,200 to train on, 240 to validate, 357 to test. Raw pixels, divided
by 16, minus the mean of the training images.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from benchmarks.miml.problem import Part, Problem
from multitudes.data.groups import merge_labels, random_groups
from multitudes.types import FloatArray

N_TRAIN, N_VALIDATION = 1200, 240


def divided(size: int, deals: int, random_state: int, *, merged: str = "lists") -> Problem:
    """Divide the images at random, and deal the training images into random bags.

    Parameters
    ----------
    size : int
        Images of a bag.
    deals : int
        How often all training images are dealt.
    random_state : int
    merged : 'lists' or 'sets'
        Whether a bag lists a label as often as its images have it, or once.
    """
    pixels, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(pixels))
    X = ((pixels - pixels[order[:N_TRAIN]].mean(axis=0)) / 16).astype(np.float32)
    Y = np.eye(10, dtype=np.float32)[digits]
    train, validation, test = (
        Part(X[rows], sp.csr_array(Y[rows]))
        for rows in np.split(order, [N_TRAIN, N_TRAIN + N_VALIDATION])
    )
    parts = [random_groups(N_TRAIN, size, random_state=rng) for _ in range(deals)]
    groups = sp.csr_array(sp.hstack(parts))
    listed = merge_labels(train.Y, groups)
    if merged == "sets":
        listed.data.fill(1)
    return Problem(Part(train.X, listed, groups), validation, test)


def class_means(random_state: int) -> FloatArray:
    """What embeddings should come near to: the mean image of each digit, of unit length."""
    single = divided(1, 1, random_state).train
    images = single.groups.T @ single.X  # type: ignore[union-attr]
    sums = single.Y.T @ images
    means: FloatArray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return means
