"""Masks of lanes against numpy, with and without the instruction that spreads lanes."""

import platform
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from multitudes.kernels import lane_masks
from multitudes.kernels.lanes import store

MASKS = [0, 1, 0x8000, 0xFFFF, 0xAAAA, 0x0F10, 0x8421]


@njit
def spread(code, at, mask, wide, out):
    if wide:
        store(out, 0, lane_masks.spread_floats(code, at, mask))
    else:
        store(out, 0, lane_masks.spread_halves(code, at, mask))


@njit
def count_and_lowest(mask):
    return lane_masks.bit_count(mask), lane_masks.lowest_bit(mask)


@njit
def matches(array, at, wanted):
    return lane_masks.matches(array, at, wanted)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_packed_numbers_are_spread(mask, wide):
    numbers = np.arange(1, 40).astype(np.float32 if wide else np.float16) / 4
    code = np.concatenate([[7, 7, 7], numbers.view(np.uint16)]).astype(np.uint16)
    out = np.full(16, np.nan, np.float32)
    spread(code, 3, np.uint16(mask), wide, out)
    marked = np.flatnonzero([mask >> lane & 1 for lane in range(16)])
    expected = np.zeros(16, np.float32)
    expected[marked] = numbers[: len(marked)]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("mask", MASKS)
def test_bits_are_counted_and_the_lowest_found(mask):
    lowest = (mask & -mask).bit_length() - 1 if mask else 64
    assert count_and_lowest(np.int32(mask)) == (mask.bit_count(), lowest)


def test_matches_are_marked():
    array = np.array([9, 4, 5, 4, 4, -1, 7, 2**31 - 1, 4, 4], np.int32)
    assert matches(array, 1, 4) == 0b10001101
    assert matches(array, 1, -1) == 0b10000
    assert matches(array, 1, 9) == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="compiled for other x86-64 processors")
@pytest.mark.parametrize("features", ["+sse2", "+avx,+avx2,+f16c,+fma,+popcnt,+sse2"])
def test_processors_without_the_instruction(tmp_path, features):
    """The same tests, compiled for other processors."""
    code = f"import pytest, sys; sys.exit(pytest.main(['-q', '-x', {__file__!r}, '-k', 'spread']))"
    cpu = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": features}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "", "NUMBA_CACHE_DIR": str(tmp_path), **cpu},
        cwd=lane_masks.__file__.rsplit("/multitudes/", 1)[0],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
