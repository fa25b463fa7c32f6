"""Every operation on sixteen lanes against numpy, on the machine's own instructions."""

import math

import numpy as np
import pytest
from numba import njit

from multitudes.kernels import lanes
from multitudes.kernels.lanes import LANES
from tests.kernels.twins import trees as reference

SPECIAL = np.array(
    [0, -0.0, 1, -1, np.inf, -np.inf, 1e-45, -1e-45, 3e38, -3e38, 0.1, 2, -2, 7, 0.5, 1e-20],
    np.float32,
)


def pair(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2, LANES)).astype(np.float32)
    right[::4] = left[::4]  # ties
    return left, right


PAIRS = {
    "random": pair(0),
    "same": (np.full(LANES, 2.5, np.float32),) * 2,
    "special": (SPECIAL, SPECIAL[::-1].copy()),
}


@pytest.fixture(params=PAIRS)
def both(request):
    return PAIRS[request.param]


def binary(operation):
    @njit
    def apply(left, right):
        out = np.empty(LANES, np.float32)
        lanes.store(out, 0, operation(lanes.load(left, 0), lanes.load(right, 0)))
        return out

    return apply


BINARY = {
    "add": (binary(lanes.add), np.add),
    "subtract": (binary(lanes.subtract), np.subtract),
    "multiply": (binary(lanes.multiply), np.multiply),
    "divide": (binary(lanes.divide), np.divide),
    "larger": (binary(lanes.larger), np.fmax),
    "smaller": (binary(lanes.smaller), np.fmin),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arithmetic(name, both):
    kernel, twin = BINARY[name]
    np.testing.assert_array_equal(kernel(*both), twin(*both))


@njit
def with_operators(left, right, out):
    a, b = lanes.load(left, 0), lanes.load(right, 0)
    lanes.store(out, 0, a + b)
    lanes.store(out, LANES, a - b)
    lanes.store(out, 2 * LANES, a * b)
    lanes.store(out, 3 * LANES, a / b)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operators_are_the_functions(both):
    out = np.empty(4 * LANES, np.float32)
    with_operators(*both, out)
    left, right = both
    expected = [left + right, left - right, left * right, left / right]
    np.testing.assert_array_equal(out.reshape(4, LANES), expected)


@njit
def fused(a, b, c):
    out = np.empty(LANES, np.float32)
    lanes.store(out, 0, lanes.fma(lanes.load(a, 0), lanes.load(b, 0), lanes.load(c, 0)))
    return out


def test_fma_rounds_once():
    rng = np.random.default_rng(1)
    a, b, c = rng.standard_normal((3, LANES)).astype(np.float32)
    # float64 holds the product of two float32 exactly; its sum rounds far below a float32's unit.
    expected = (a.astype(np.float64) * b + c).astype(np.float32)
    np.testing.assert_array_equal(fused(a, b, c), expected)
    near = np.full(LANES, 1 + 2**-12, np.float32)
    np.testing.assert_array_equal(fused(near, near, -near * near), np.full(LANES, 2.0**-24))


def comparison(operation):
    @njit
    def apply(left, right):
        return operation(lanes.load(left, 0), lanes.load(right, 0))

    return apply


COMPARISONS = {
    "less": (comparison(lanes.less), np.less),
    "less_equal": (comparison(lanes.less_equal), np.less_equal),
    "differs": (comparison(lanes.differs), np.not_equal),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_give_a_mask_of_the_lanes(name, both):
    kernel, twin = COMPARISONS[name]
    np.testing.assert_array_equal(reference.lanes_of(kernel(*both)), twin(*both))
    # A comparison with NaN holds for no lane, "differs" included.
    assert kernel(both[0], np.full(LANES, np.nan, np.float32)) == 0


@njit
def selected(mask, yes, no):
    out = np.empty(LANES, np.float32)
    lanes.store(out, 0, lanes.select(mask, lanes.load(yes, 0), lanes.load(no, 0)))
    return out


@pytest.mark.parametrize("mask", [0, 1, 1 << 15, 0x5555, 0xAAAA, 0xFFFF])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_select_takes_each_lane_by_its_bit(mask, dtype):
    yes, no = PAIRS["random"]
    expected = np.where(reference.lanes_of(mask), yes, no)
    np.testing.assert_array_equal(selected(dtype(mask), yes, no), expected)


@njit
def splatted(number):
    out = np.empty(LANES, np.float32)
    lanes.store(out, 0, lanes.splat(number))
    return out


@pytest.mark.parametrize("number", [0.0, -2.5, 1e-3, math.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_splat_fills_all_lanes(number, dtype):
    np.testing.assert_array_equal(splatted(dtype(number)), np.full(LANES, number, np.float32))


STORED = {
    "float32": np.random.default_rng(2).standard_normal(64).astype(np.float32),
    # All kinds of float16: zeros, subnormal, normal, largest, infinite.
    "float16": np.concatenate(
        [
            np.array([0, -0.0, 6e-8, -6e-8, 6.1e-5, 65504, -65504, np.inf], np.float16),
            np.random.default_rng(3).standard_normal(56).astype(np.float16),
        ]
    ).view(np.uint16),
    "int8": np.concatenate([[-128, 127, 0, 1, -1], np.arange(-30, 29)]).astype(np.int8),
}


@njit
def load_and_number(values, at):
    vector = np.empty(LANES, np.float32)
    lanes.store(vector, 0, lanes.load(values, at))
    single = np.empty(LANES, np.float32)
    for lane in range(LANES):
        single[lane] = lanes.number(values, at + lane)
    return vector, single


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.parametrize("at", [0, 1, 16, 37, 48])  # aligned and not
def test_stored_numbers_become_floats(kind, at):
    values = STORED[kind]
    expected = reference.stored_numbers(values)[at : at + LANES]
    vector, single = load_and_number(values, at)
    np.testing.assert_array_equal(vector, expected)
    np.testing.assert_array_equal(single, expected)


@pytest.mark.parametrize("kind", STORED)
def test_read_only_arrays_load_alike(kind):
    values = STORED[kind].copy()
    values.flags.writeable = False
    np.testing.assert_array_equal(
        load_and_number(values, 3)[0], reference.stored_numbers(values)[3 : 3 + LANES]
    )


@njit
def store_at(values, out, at):
    lanes.store(out, at, lanes.load(values, 0))


@pytest.mark.parametrize("at", [0, 5, 16])
def test_store_writes_sixteen_and_no_more(at):
    out = np.full(40, -9, np.float32)
    store_at(SPECIAL, out, at)
    expected = np.full(40, -9, np.float32)
    expected[at : at + LANES] = SPECIAL
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("by_bits", [False, True])
def test_every_float16_is_widened_as_numpy_does_it(monkeypatch, by_bits):
    """By bits where the processor has no instruction: LLVM would end the process there."""
    if by_bits:
        monkeypatch.setattr(lanes, "_widens_floats", lambda: False)

    @njit
    def widen(halves, lanes_out, single_out):
        for i in range(0, len(halves), LANES):
            lanes.store(lanes_out, i, lanes.load(halves, i))
        for i in range(len(halves)):
            single_out[i] = lanes.number(halves, i)

    halves = np.arange(1 << 16, dtype=np.uint16)
    expected = halves.view(np.float16).astype(np.float32)
    found = np.empty((2, len(halves)), np.float32)
    widen(halves, *found)
    for row in found:
        np.testing.assert_array_equal(row, expected)  # nan where nan
        assert (np.signbit(row) == np.signbit(expected)).all()
