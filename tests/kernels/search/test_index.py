"""The layout that beam search reads, expanded again and compared with the weights it came from."""

from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from multitudes.kernels.search import beam_search
from multitudes.kernels.search.beam_search import map_rows
from multitudes.kernels.search.index import SEGMENT_FROM
from multitudes.linear.search_index import build_arrays
from tests.kernels.twins import trees as reference

from .dense_trees import SHAPES, dense_tree, whole_instances


@njit
def find_rows(*arguments):
    """Only kernels can call it."""
    return beam_search.find_rows(*arguments)


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


def test_every_kind_of_chunk_is_met():
    kinds = set()
    for shape in SHAPES.values():
        given = dense_tree(**shape)
        index = build_arrays(given.tree, given.levels, given.n_features)
        for g, dense in enumerate(index.chunk_dense):
            rows = slice(2 * index.chunk_row[g], 2 * index.chunk_row[g + 1] + 2)
            segments, entries = np.ptp(index.row_place[rows].reshape(-1, 2), axis=0)
            kinds.add("dense" if dense else f"{segments > 0} segments, {entries > 0} entries")
    assert {"dense", "True segments, True entries", "False segments, True entries"} <= kinds


def test_a_segment_has_enough_weights_to_pay():
    given = dense_tree(**SHAPES["mixed"])
    index = build_arrays(given.tree, given.levels, given.n_features)
    filled = (index.segment_value.reshape(-1, 16) != 0).sum(axis=1)
    segment_of = index.row_place[2 * index.chunk_row]
    is_sparse = np.repeat(index.chunk_dense == 0, np.diff(segment_of))
    filled = filled[is_sparse]
    assert len(filled)
    assert (filled >= SEGMENT_FROM).all()


def test_biases_scales_and_masks_stand_in_whole_blocks(given):
    index = build_arrays(given.tree, given.levels, given.n_features)
    g = 0
    for number, (level, kept) in enumerate(zip(given.dense, given.levels, strict=True)):
        # Clusters without labels are never entered.
        full = reference.children_below(given.dense[number:], np.ones(given.tree.n_slots, bool))
        for start, stop in pairwise(level.offsets):
            count, first = stop - start, index.block_first[g]
            n_blocks = -(-count // 16)
            lanes = slice(first * 16, first * 16 + count)
            assert index.child_count[g] == count
            assert index.child_first[g] == start
            np.testing.assert_array_equal(index.child_bias[lanes], level.bias[start:stop])
            np.testing.assert_array_equal(index.child_scale[lanes], kept.scale[start:stop])
            masks = [reference.lanes_of(m) for m in index.block_mask[first : first + n_blocks]]
            marked = np.concatenate([np.zeros(0, bool), *masks])
            expected = np.pad(full[start:stop], (0, n_blocks * 16 - count))
            np.testing.assert_array_equal(marked, expected)
            g += 1


def test_buckets_and_a_map_find_the_same_rows(given):
    index = build_arrays(given.tree, given.levels, given.n_features)
    instances = [np.flatnonzero(x) for x in whole_instances(5, given.n_features)]
    instances.append(np.arange(given.n_features))
    features = np.concatenate(instances).astype(np.int32)
    bounds = np.cumsum([0, *(len(x) for x in instances)])
    row_of = np.full(given.n_features, -1, np.int32)
    room = np.full((4, given.n_features + 1), -7, np.int64)
    for g in range(len(index.child_count)):
        rows = np.arange(index.chunk_row[g], index.chunk_row[g + 1])
        row_of[index.row_feature[rows]] = rows
        for begin, end in pairwise(bounds):
            n_found = find_rows(index, g, features, begin, end, room[0], room[1])
            chunk = (index.chunk_row[g], index.chunk_row[g + 1])
            n_mapped = map_rows(row_of, *chunk, features, begin, end, room[2], room[3])
            expected = reference.find_rows(index, g, features[begin:end])
            found = zip(
                room[0, :n_found].tolist(), (room[1, :n_found] - begin).tolist(), strict=True
            )
            mapped = zip(
                room[2, :n_mapped].tolist(), (room[3, :n_mapped] - begin).tolist(), strict=True
            )
            assert list(found) == expected
            assert list(mapped) == expected  # whatever rows of other chunks the map still holds
