"""Keeping the weights that matter, against a loop over a dense matrix."""

import numpy as np
import pytest

from multitudes.kernels.lanes import LANES, NARROW, WIDE
from multitudes.kernels.solver.clusters import count_kept, fill_kept
from tests.kernels.twins import trees as reference


def in_blocks(weights, width=LANES):
    """(n_children, n_local) as the solvers leave it, the constant feature's weights last."""
    n_children, n_local = weights.shape
    n_blocks = -(-n_children // width)
    w = np.full((n_blocks, n_local + 1, width), 99, np.float32)  # padding that must be ignored
    for child in range(n_children):
        w[child // width, :n_local, child % width] = weights[child]
    return w.reshape(n_blocks, (n_local + 1) * width)


def kept(weights, feature_of, cut, first_child=0, lanes=WIDE):
    n_children, n_local = weights.shape
    w = in_blocks(weights, len(lanes))
    limits = np.full(len(w) * len(lanes), np.inf, np.float32)  # infinite where there is no child
    limits[:n_children] = cut
    with_weights = np.full(n_local, -1, np.int64)
    n_rows, n_entries = count_kept(w, n_local, limits, with_weights, lanes)
    with_weights = with_weights[:n_rows]
    order = with_weights[np.argsort(feature_of[with_weights])]
    out = (
        np.full(n_rows, -1, np.int32),
        np.full(n_rows + 1, -1, np.int64),
        np.full(n_entries, -1, np.int32),
        np.full(n_entries, np.nan, np.float32),
    )
    fill_kept(w, order, feature_of, limits, first_child, *out, lanes)
    feature, entry, child, value = out
    assert entry[0] == 0
    assert entry[-1] == n_entries
    assert (np.diff(entry) > 0).all()  # no row without an entry
    pairs = list(zip(child.tolist(), value.tolist(), strict=True))
    return {int(f): pairs[entry[row] : entry[row + 1]] for row, f in enumerate(feature)}


def random_weights(n_children, n_local, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_children, n_local)).astype(np.float32)
    return weights, rng.permutation(3 * n_local + 1)[:n_local].astype(np.int32)


@pytest.mark.parametrize("n_children", [0, 1, 15, 16, 17, 33])
@pytest.mark.parametrize("n_local", [0, 1, 12])
@pytest.mark.parametrize("cut", [0.0, 0.7, 100.0])
@pytest.mark.parametrize("lanes", [WIDE, NARROW], ids=["wide", "narrow"])
def test_what_is_kept(n_children, n_local, cut, lanes):
    weights, feature_of = random_weights(n_children, n_local)
    limits = np.full(n_children, cut)
    expected = reference.kept_weights(weights, feature_of, limits, first_child=0)
    found = kept(weights, feature_of, cut, lanes=lanes)
    assert found == expected
    assert list(found) == sorted(expected)


def test_each_child_has_its_own_cut():
    weights, feature_of = random_weights(18, 10)
    cut = np.linspace(0, 2, 18).astype(np.float32)
    expected = reference.kept_weights(weights, feature_of, cut, first_child=0)
    assert kept(weights, feature_of, cut) == expected


def test_children_are_counted_from_the_first():
    weights, feature_of = random_weights(17, 5)
    expected = reference.kept_weights(weights, feature_of, np.zeros(17), first_child=32)
    assert kept(weights, feature_of, 0, first_child=32) == expected


def test_a_weight_as_large_as_the_cut_goes():
    weights = np.array([[0.5, -0.5, 0.25, -0.75]], np.float32)
    assert kept(weights, np.arange(4, dtype=np.int32), 0.5) == {3: [(0, -0.75)]}
    assert kept(np.zeros((3, 4), np.float32), np.arange(4, dtype=np.int32), 0.0) == {}
