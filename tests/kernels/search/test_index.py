"""The layout that beam search reads, expanded again and compared with the weights it came from."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.search import index as layout
from multitudes.kernels.search import margins
from multitudes.kernels.search.index import (
    BLOCK_FIRST,
    CHILD_COUNT,
    CHILD_FIRST,
    FULL_BLOCKS,
    GROUP_COUNT,
    LARGEST_GAP,
)
from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights
from multitudes.linear.scoring import scoring
from multitudes.linear.search_index import SearchIndex, build_arrays, heat_of_features
from tests.kernels.twins import trees as reference

from .dense_trees import SHAPES, dense_tree, whole_instances


@pytest.fixture(params=SHAPES, ids=lambda name: name.replace(" ", "-"))
def given(request):
    return dense_tree(**SHAPES[request.param])


def expanded(index, given):
    """Dense weights of each level, read back from the index."""
    out, g = [], 0
    for level in given.dense:
        chunks = [
            reference.expand_chunk(index, g + c, given.n_features)
            for c in range(len(level.offsets) - 1)
        ]
        g += len(chunks)
        out.append(np.concatenate(chunks))
    return out


@pytest.mark.parametrize("stored", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda name: name.replace(" ", "-"))
def test_the_index_holds_the_weights(shape, stored):
    given = dense_tree(**SHAPES[shape], stored=stored)
    index = build_arrays(given.tree, given.levels, given.n_features)
    for level, found, kept in zip(given.dense, expanded(index, given), given.levels, strict=True):
        np.testing.assert_array_equal(found * kept.scale[:, None], level.weights)


def test_both_forms_of_rows_are_met():
    blocks = set()
    for shape in SHAPES.values():
        given = dense_tree(**shape)
        arrays = build_arrays(given.tree, given.levels, given.n_features)
        blocks |= set((-(-arrays.cluster[:, CHILD_COUNT] // 16)).tolist())
    assert 1 in blocks
    assert any(1 < n <= FULL_BLOCKS for n in blocks)
    assert any(n > FULL_BLOCKS for n in blocks)


def test_gaps_of_any_length_between_blocks():
    children = np.array([3, 16 * LARGEST_GAP + 3, 16 * LARGEST_GAP + 19, 48 * LARGEST_GAP + 2])
    n = int(children[-1]) + 1
    level = LevelWeights(
        np.array([0, 1]), np.array([1], np.int32), np.array([0, 4]), children.astype(np.uint32),
        np.array([1, 2, 3, 4], np.float16), np.zeros(n, np.float32), np.ones(n, np.float32),
        np.array([1]),
    )  # fmt: skip
    arrays = build_arrays(LabelTree.flat(n), [level], 2)
    weights = reference.expand_chunk(arrays, 0, 2)[:, 1]
    np.testing.assert_array_equal(np.flatnonzero(weights), children)
    np.testing.assert_array_equal(weights[children], [1, 2, 3, 4])
    found = SearchIndex(LabelTree.flat(n), [level], 2).search(
        sp.csr_array(np.array([[0, 1]], np.float32)), top_k=4, beam_width=1, scoring=scoring("raw")
    )
    assert found[0].tolist() == [children[::-1].tolist()]


def test_groups_that_overflow_lose_no_feature():
    """More rows than the home groups of their features have room for."""
    alike = [f for f in range(20_000) if layout.group_of(f, 5) == 2][:20]
    features = np.array(alike, np.int32)
    n = len(features)
    level = LevelWeights(
        np.array([0, n]), features, np.arange(n + 1), np.zeros(n, np.uint16),
        np.arange(1, n + 1).astype(np.float16), np.zeros(1, np.float32), np.ones(1, np.float32),
        np.array([1]),
    )  # fmt: skip
    arrays = build_arrays(LabelTree.flat(1), [level], 20_000)
    assert arrays.cluster[0, GROUP_COUNT] == 5
    room = np.zeros((2, 20_001), np.uint64)
    every = np.arange(20_000, dtype=np.int32)
    assert margins.find_rows(arrays, 0, every, 0, len(every), *room) == n
    assert room[1, :n].tolist() == alike


def test_hot_rows_come_first():
    given = dense_tree(**SHAPES["mixed"])
    arrays = build_arrays(given.tree, given.levels, given.n_features)
    heat = heat_of_features(given.levels, given.n_features)
    for g in range(len(arrays.cluster)):
        rows = reference.rows_of(arrays, g)
        heats = heat[sorted(rows, key=lambda feature: rows[feature])]
        assert (np.diff(heats.astype(int)) <= 0).all()


def test_biases_scales_and_masks_stand_in_whole_blocks(given):
    index = build_arrays(given.tree, given.levels, given.n_features)
    g = 0
    for number, (level, kept) in enumerate(zip(given.dense, given.levels, strict=True)):
        # Clusters without labels are never entered.
        full = reference.children_below(given.dense[number:], np.ones(given.tree.n_slots, bool))
        for start, stop in pairwise(level.offsets):
            count = stop - start
            first = index.cluster[g, BLOCK_FIRST]
            n_blocks = -(-count // 16)
            lines = index.block_line.reshape(-1, 2, 16)[first : first + n_blocks]
            scale, bias = (lines[:, k].ravel()[:count] for k in range(2))
            assert index.cluster[g, CHILD_COUNT] == count
            assert index.cluster[g, CHILD_FIRST] == start
            np.testing.assert_array_equal(bias, level.bias[start:stop])
            np.testing.assert_array_equal(scale, kept.scale[start:stop])
            masks = [reference.lanes_of(m) for m in index.block_mask[first : first + n_blocks]]
            marked = np.concatenate([np.zeros(0, bool), *masks])
            expected = np.pad(full[start:stop], (0, n_blocks * 16 - count))
            np.testing.assert_array_equal(marked, expected)
            g += 1


def test_all_rows_are_found_and_no_others(given):
    index = build_arrays(given.tree, given.levels, given.n_features)
    instances = [np.flatnonzero(x) for x in whole_instances(5, given.n_features)]
    instances.append(np.arange(given.n_features))
    features = np.concatenate(instances).astype(np.int32)
    bounds = np.cumsum([0, *(len(x) for x in instances)])
    room = np.full((2, given.n_features + 1), 7, np.uint64)
    for g in range(len(index.cluster)):
        for begin, end in pairwise(bounds):
            n_found = margins.find_rows(index, g, features, begin, end, room[0], room[1])
            rows, places = room[0, :n_found].tolist(), room[1, :n_found].astype(int) - begin
            expected = reference.find_rows(index, g, features[begin:end])
            assert list(zip(rows, places.tolist(), strict=True)) == expected
