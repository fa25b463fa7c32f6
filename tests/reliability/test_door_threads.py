"""Threads share the check of a large matrix, and find what one finds."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.kernels.threads import ThreadTeam
from multitudes.validation import checked_features
from multitudes.validation.passes import PIECE, check_rows, first_not_finite

N_COLUMNS = 900
THREADS = [1, 2, 4]


@pytest.fixture(scope="module")
def sound():
    """Sorted rows of several pieces, a long one and empty ones among them."""
    rng = np.random.default_rng(5)
    held = rng.random((6_000, N_COLUMNS), np.float32) < 0.06
    held[7], held[100:200] = True, False
    made = sp.csr_array(held * rng.random(held.shape, np.float32))
    assert made.nnz > 4 * PIECE
    return made


@pytest.mark.parametrize("n_threads", THREADS)
def test_sound_indices_are_copied_and_others_sorted(sound, n_threads):
    mixed = sound.copy()
    last = slice(sound.indptr[-2], sound.indptr[-1])
    mixed.indices[last], mixed.data[last] = sound.indices[last][::-1], sound.data[last][::-1]
    with ThreadTeam(n_threads) as team:
        for given in (sound, mixed):
            checked = checked_features(given, team=team)
            assert not np.shares_memory(checked.indices, given.indices)
            np.testing.assert_array_equal(checked.indices, sound.indices)
            np.testing.assert_array_equal(checked.data, sound.data)


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("seed", range(4))
def test_the_first_thing_that_is_wrong_is_named(sound, n_threads, seed):
    rng = np.random.default_rng(seed)
    first, second = np.sort(rng.choice(sound.nnz, 2, replace=False))
    outside, not_finite = sound.copy(), sound.copy()
    outside.indices[[first, second]] = N_COLUMNS + first, -5
    not_finite.data[[first, second]] = np.inf, np.nan
    row = int(np.searchsorted(sound.indptr, first, side="right")) - 1
    place = f"value inf at row {row}, feature {sound.indices[first]}:"
    with ThreadTeam(n_threads) as team:
        with pytest.raises(DataError, match=f"column index {N_COLUMNS + first} outside"):
            checked_features(outside, team=team)
        with pytest.raises(DataError, match=re.escape(place)):
            checked_features(not_finite, team=team)


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("pieces", [[4], [0, 1, 1, 0, 0, 1, 1, 0], [2, 0, 0, 3], [0, 0, 5]])
def test_rows_as_long_as_pieces_are_checked_once(n_threads, pieces):
    indptr = np.concatenate([[0], np.cumsum(pieces)]) * PIECE
    indices = np.concatenate([np.arange(n * PIECE, dtype=np.int32) for n in pieces])
    out = np.zeros(len(indices), np.int32)
    with ThreadTeam(n_threads) as team:
        assert check_rows(indptr, indices, max(pieces) * PIECE, out, team) == (-1, True)
        np.testing.assert_array_equal(out, indices)
        assert check_rows(indptr, indices, PIECE // 2, out, team) == (PIECE // 2, False)
        falling = indices.copy()
        falling[-1] = 0
        assert check_rows(indptr, falling, max(pieces) * PIECE, out, team) == (-1, False)
        values = np.ones(len(indices), np.float32)
        assert first_not_finite(values, team) == -1
        values[-1] = np.nan
        assert first_not_finite(values, team) == len(values) - 1
