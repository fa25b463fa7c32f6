"""The kernels of 8-bit encoders against numpy, compiled for several processors."""

import platform
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from multitudes.kernels import lanes
from multitudes.kernels.encoder import attention, byte_products, lane_functions, rounding
from multitudes.kernels.lanes import LANES
from tests.kernels.twins import encoder as twin

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("n_rows", [0, 1, 3, 6, 7, 25])
@pytest.mark.parametrize(("n_in", "n_out"), [(64, 64), (128, 192), (320, 64)])
def test_products_are_exact(n_rows, n_in, n_out):
    inputs = RNG.integers(256, size=(n_rows, n_in), dtype=np.uint8)
    weights = RNG.integers(-128, 128, size=(n_in, n_out), dtype=np.int8)
    starts = RNG.integers(-(10**6), 10**6, size=n_out, dtype=np.int32)
    scales, columns, biases = np.ones(n_rows, np.float32), np.ones(n_out, np.float32), floats(n_out)
    out = np.empty(n_rows * n_out, np.float32)
    rest = starts, scales, columns
    packed = byte_products.packed_weights(weights)
    byte_products.product(inputs.ravel(), packed, *rest, 0 * biases, out, n_in, n_out)
    np.testing.assert_array_equal(
        out.reshape(n_rows, n_out), twin.product(inputs, weights, *rest, 0 * biases)
    )
    rest = starts, np.abs(floats(n_rows)), floats(n_out), biases
    byte_products.product(inputs.ravel(), packed, *rest, out, n_in, n_out)
    expected = twin.product(inputs, weights, *rest)
    np.testing.assert_allclose(out.reshape(n_rows, n_out), expected, rtol=1e-6, atol=1e-4)


def test_products_of_the_largest_bytes_are_not_cut_off():
    n = 1536
    inputs, out = np.full(n, 255, np.uint8), np.empty(64, np.float32)
    weights, ones = np.full((n, 64), -128, np.int8), np.ones(64, np.float32)
    starts, packed = np.zeros(64, np.int32), byte_products.packed_weights(weights)
    byte_products.product(inputs, packed, starts, ones[:1], ones, 0 * ones, out, n, 64)
    assert (out == -128 * 255 * n).all()


ROWS = {
    "random": floats(9, 128),
    "one": floats(1, 64),
    "far out": np.where(np.arange(64) == 5, 1000, floats(4, 64)).astype(np.float32),
    "zero": np.zeros((2, 64), np.float32),
}


@pytest.mark.parametrize("name", ROWS)
def test_rounding(name):
    values = ROWS[name]
    factors = np.exp(floats(values.shape[1]))
    out, scales = np.empty(values.size, np.uint8), np.empty(len(values), np.float32)
    rounding.round_rows(values.ravel(), factors, out, scales)
    expected, expected_scales = twin.rounded(values, factors)
    np.testing.assert_allclose(scales, expected_scales, rtol=1e-6)
    found = out.reshape(values.shape).astype(float)
    assert np.abs(found - expected).max() <= 1  # where a half is rounded up or down
    assert (found != expected).mean() < 0.01


@pytest.mark.parametrize("n_real", [128, 100, 65])
def test_norms_of_sums(n_real):
    changes, states = floats(7, 128), 5 + floats(7, 128)
    norm = floats(2, 128)
    for array in (changes, states, norm):
        array[:, n_real:] = 0
    factors = np.exp(floats(128))
    expected = twin.normed((changes + states)[:, :n_real], *norm[:, :n_real], 1e-5)
    found, out, scales = states.ravel().copy(), np.empty(7 * 128, np.uint8), np.empty(7, np.float32)
    rounding.norm_rows(changes.ravel(), found, norm.ravel(), factors, out, scales, n_real, 1e-5)
    found = found.reshape(7, 128)
    np.testing.assert_allclose(found[:, :n_real], expected, atol=2e-5)
    assert not found[:, n_real:].any()
    again, again_scales = out.copy(), scales.copy()
    rounding.round_rows(found.ravel(), factors, again, again_scales)
    np.testing.assert_array_equal(again, out)
    np.testing.assert_array_equal(again_scales, scales)


def test_gelu_and_its_bytes():
    values = np.concatenate([np.linspace(-9, 9, 640), np.zeros(64), -np.full(64, 8)])
    values = values.astype(np.float32).reshape(12, 64)
    out, scales = np.empty(values.size, np.uint8), np.empty(12, np.float32)
    found = values.ravel().copy()
    rounding.gelu_rows(found, out, scales, 64)
    np.testing.assert_allclose(
        found.reshape(12, 64) - rounding.GELU_LEAST, twin.gelu(values), atol=2e-6
    )
    meant = out.reshape(12, 64) * scales[:, None] - rounding.GELU_LEAST
    assert (np.abs(meant - twin.gelu(values)) <= 0.501 * scales[:, None] + 1e-5).all()


LENGTHS = {
    "one token": [1],
    "several": [5, 1, 16, 17, 4, 33],
    "long": [70],
}


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("head", [16, 32])
@pytest.mark.parametrize("name", LENGTHS)
def test_attention_within_each_text(name, head, with_bias):
    lengths, n_heads, filling = LENGTHS[name], 3, 16
    offsets, longest = np.concatenate([[0], np.cumsum(lengths)]), 80
    width = n_heads * head
    step, out_step = 3 * width + filling, width + filling
    qkv = floats(sum(lengths), step)
    bias = floats(n_heads, longest, longest) if with_bias else np.empty((n_heads, 0, 0), np.float32)
    out = np.zeros((sum(lengths), out_step), np.float32)
    room = np.empty(longest * head, np.float32), np.empty(4 * longest, np.float32)
    attention.attention(
        qkv.ravel(), offsets, bias.ravel(), out.reshape(-1), *room, n_heads, head, step, out_step,
        bias.shape[1],
    )  # fmt: skip
    for start, end in pairwise(offsets):
        own = qkv[start:end, : 3 * width].reshape(-1, 3, n_heads, head)
        expected = twin.attention(own, bias if with_bias else None)
        found = out[start:end, :width].reshape(-1, n_heads, head)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert not out[:, width:].any()


@njit
def functions(values, powers, sums, turned):
    found = lanes.load(values, 0)
    lanes.store(powers, 0, lane_functions.exponential(found))
    sums[0] = lane_functions.total(found)
    sums[1] = lane_functions.largest(found)
    lane_functions.turn(values, 0, 20, 13, turned, 0, 16)


def test_functions_of_lanes():
    values = -np.abs(floats(320)) * 20
    values[:3] = 0, -79, -1000
    powers, turned = np.empty(LANES, np.float32), np.empty((LANES, LANES), np.float32)
    sums = np.empty(2)
    functions(values, powers, sums, turned.reshape(-1))
    np.testing.assert_allclose(powers, np.exp(np.maximum(values[:16].astype(float), -80)), 2e-6)
    np.testing.assert_allclose(sums, [values[:16].sum(), values[:16].max()], rtol=1e-6)
    square = values.reshape(16, 20)[:, :16].copy()
    square[13:] = square[12]
    np.testing.assert_array_equal(turned, square.T)


AVX2 = "+avx,+avx2,+f16c,+fma,+popcnt,+sse2"
WIDE = "+avx512f,+avx512bw,+avx512vl,+avx512dq"
PROCESSORS = {
    "none": "+sse2",
    "avx2": AVX2,
    "avx512bw": f"{AVX2},{WIDE}",
    "avxvnni": f"{AVX2},+avxvnni",
    "avx512vnni": f"{AVX2},{WIDE},+avx512vnni",
}


def runs_here(features):
    from llvmlite import binding

    own = binding.get_host_cpu_features()
    return all(own.get(feature[1:]) for feature in features.split(","))


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="compiled for other x86-64 processors")
@pytest.mark.parametrize("name", PROCESSORS)
def test_other_processors(tmp_path, name):
    """The same tests, compiled for other processors."""
    if not runs_here(PROCESSORS[name]):
        pytest.skip(f"this processor does not have {PROCESSORS[name]}")
    code = (
        "import pytest, sys\n"
        "from multitudes.kernels.encoder.byte_products import instructions\n"
        f"assert instructions() == {name!r}\n"
        f"sys.exit(pytest.main(['-q', '-x', {__file__!r}, '-k', 'not other_processors']))"
    )
    cpu = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": PROCESSORS[name]}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "", "NUMBA_CACHE_DIR": str(tmp_path), **cpu},
        cwd=lanes.__file__.rsplit("/multitudes/", 1)[0],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
