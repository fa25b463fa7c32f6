"""A level's weights: joined from chunks, cut into chunks, stored in fewer bits and on disk."""

from itertools import pairwise

import numpy as np
import pytest

from multitudes.linear.level_weights import (
    Chunk,
    LevelWeights,
    columns_of,
    ends,
    join_parts,
    place_type,
    smallest_unsigned,
)
from multitudes.store import build

from .problems import assert_same_levels, dense

SIZES = [3, 0, 17, 1]
OFFSETS = ends(SIZES)
N_FEATURES = 12


def chunk_of(weights, first_child=0):
    """A dense (n_children, n_features) matrix as a chunk."""
    feature, child = np.nonzero(weights.T)
    rows, counts = np.unique(feature, return_counts=True)
    return Chunk(
        rows.astype(np.int32),
        ends(counts),
        (child + first_child).astype(np.int32),
        weights.T[feature, child],
        np.arange(len(weights), dtype=np.float32) + first_child,
    )


def random_weights(n_children, random_state=0):
    rng = np.random.default_rng(random_state)
    weights = rng.standard_normal((n_children, N_FEATURES)) * (
        rng.random((n_children, N_FEATURES)) < 0.4
    )
    return weights.astype(np.float32)


@pytest.fixture
def parts():
    return [random_weights(size, random_state) for random_state, size in enumerate(SIZES)]


@pytest.fixture
def level(parts):
    return LevelWeights.from_chunks([chunk_of(part) for part in parts], np.array([5, 0, 7, 1]))


def test_chunks_come_back_out_of_the_level(level, parts):
    assert level.n_clusters == 4
    for cluster, part in enumerate(parts):
        found = level.chunk(cluster, OFFSETS[cluster], SIZES[cluster])
        for array, expected in zip(found, chunk_of(part), strict=True):
            np.testing.assert_array_equal(array, expected)


def test_columns_are_joined_and_let_go_of(level, parts):
    columns = columns_of([chunk_of(part) for part in parts])
    again = LevelWeights.from_columns(columns, level.seen)
    for name, array in vars(level).items():
        np.testing.assert_array_equal(getattr(again, name), array)
    assert columns[:4] == [[], [], [], []]


def test_places_take_as_little_room_as_they_can(level):
    assert place_type(2**31 - 1) is np.int32
    assert place_type(2**31) is np.int64
    assert level.row_entry.dtype == LevelWeights.from_state(level.to_state()).row_entry.dtype
    assert level.row_entry.dtype == np.int32


def test_a_level_of_empty_chunks():
    level = LevelWeights.from_chunks([chunk_of(np.zeros((2, 5), np.float32))] * 3, np.zeros(3, int))
    assert level.row_feature.size == 0
    assert not dense(level, [0, 2, 4, 6], 5).any()


def test_bytes_are_those_of_all_arrays(level):
    assert level.nbytes == sum(array.nbytes for array in vars(level).values())


def test_float16_rounds_to_its_precision_and_never_to_infinity(level, parts):
    half = level.converted("float16", OFFSETS)
    assert half.entry_value.dtype == np.float16
    np.testing.assert_allclose(
        dense(half, OFFSETS, N_FEATURES), np.concatenate(parts), rtol=2**-11, atol=2**-24
    )
    huge = LevelWeights.from_chunks(
        [chunk_of(np.array([[1e6, -1e6]], np.float32))], np.ones(1, int)
    )
    found = dense(huge.converted("float16", ends([1])), ends([1]), 2)
    np.testing.assert_array_equal(found, [[65504, -65504]])


def test_int8_is_within_half_a_step_of_each_labels_largest(level, parts):
    byte = level.converted("int8", OFFSETS)
    weights = np.concatenate(parts)
    assert byte.entry_value.dtype == np.int8
    step = np.abs(weights).max(axis=1, keepdims=True) / 127
    error = np.abs(dense(byte, OFFSETS, N_FEATURES) - weights)
    assert (error <= step / 2 * 1.001).all()
    largest = np.abs(weights).argmax(axis=1)
    rows = np.flatnonzero(np.abs(weights).max(axis=1))
    np.testing.assert_allclose(  # the largest of each label has no error
        dense(byte, OFFSETS, N_FEATURES)[rows, largest[rows]],
        weights[rows, largest[rows]],
        rtol=1e-6,
    )


def test_biases_keep_their_precision(level):
    for weights in ("float32", "float16", "int8"):
        np.testing.assert_array_equal(level.converted(weights, OFFSETS).bias, level.bias)


def test_float32_stays_as_it_is(level):
    assert_same_levels([level.converted("float32", OFFSETS)], [level])


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_converting_again_changes_nothing(level, weights):
    once = level.converted(weights, OFFSETS)
    twice = once.converted(weights, OFFSETS)
    np.testing.assert_array_equal(once.entry_value, twice.entry_value)
    np.testing.assert_allclose(once.scale, twice.scale, rtol=1e-6)


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_the_state_holds_everything(level, weights):
    stored = level.converted(weights, OFFSETS)
    again = build(stored.to_state())
    assert_same_levels([again], [stored])


def test_the_state_uses_small_types(level):
    arrays = level.to_state().arrays
    assert arrays["entry_child"].dtype == np.uint8
    assert arrays["row_entries"].dtype == np.uint8


def test_more_children_than_16_bits_count():
    n = (1 << 16) + 5
    chunk = Chunk(
        np.array([3], np.int32),
        np.array([0, 2]),
        np.array([7, n - 1], np.int32),
        np.array([1, 2], np.float32),
        np.zeros(n, np.float32),
    )
    level = LevelWeights.from_chunks([chunk], np.ones(1, np.int64))
    assert level.entry_child.tolist() == [7, n - 1]
    assert build(level.to_state()).entry_child.tolist() == [7, n - 1]


@pytest.mark.parametrize("cuts", [[], [16], [16, 32]])
def test_parts_of_a_cluster_join_to_the_whole(cuts):
    weights = random_weights(40)
    bounds = [0, *cuts, 40]
    parts = [chunk_of(weights[start:stop], first_child=start) for start, stop in pairwise(bounds)]
    for array, expected in zip(join_parts(parts), chunk_of(weights), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_parts_without_weights_join():
    nothing = np.zeros((16, N_FEATURES), np.float32)
    joined = join_parts([chunk_of(nothing), chunk_of(nothing, first_child=16)])
    assert joined.row_feature.size == 0
    assert joined.row_entry.tolist() == [0]
    assert len(joined.bias) == 32


@pytest.mark.parametrize(
    ("largest", "dtype"), [(0, np.uint8), (255, np.uint8), (256, np.uint16), (65536, np.uint32)]
)
def test_smallest_unsigned(largest, dtype):
    assert smallest_unsigned(np.array([0, largest])).dtype == dtype
    assert smallest_unsigned(np.zeros(0, np.int64)).dtype == np.uint8


def test_ends():
    assert ends([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert ends([]).tolist() == [0]
