from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from multitudes.errors import StoreError
from multitudes.store.files import (
    DTYPES,
    check_dtype,
    map_arrays,
    read_strings,
    write_arrays,
    write_strings,
)


def raw_file(tmp_path, header: object, body: bytes = b"", length: int | None = None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "raw.safetensors"
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + body)
    return path


@pytest.mark.parametrize("dtype", sorted(d.name for d in DTYPES.values()))
@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 4), (2, 3), (2, 1, 3)])
def test_every_dtype_and_shape_comes_back(tmp_path, dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
    write_arrays(tmp_path / "a", {"x": array})
    back = map_arrays(tmp_path / "a")["x"]
    assert back.dtype == array.dtype
    assert back.shape == shape
    np.testing.assert_array_equal(back, array)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=8).filter(lambda n: n != "__metadata__"),
        hnp.arrays(
            st.sampled_from([np.float32, np.int8, np.bool_, np.int64, np.float16]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=4,
    )
)
def test_any_arrays_come_back_bit_for_bit(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("arrays") / "a"
    write_arrays(path, arrays)
    back = map_arrays(path)
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12).reshape(3, 4).T,
        np.arange(12)[::2],
        np.asfortranarray(np.ones((3, 2), np.float32)),
        np.arange(4, dtype=">i4"),
        np.broadcast_to(np.float32(2), (3, 3)),
    ],
    ids=["transposed", "strided", "fortran", "big-endian", "broadcast"],
)
def test_unusual_memory_layouts_keep_their_values(tmp_path, array):
    write_arrays(tmp_path / "a", {"x": array})
    np.testing.assert_array_equal(map_arrays(tmp_path / "a")["x"], array)


def test_arrays_are_views_of_one_map_and_read_only(tmp_path):
    write_arrays(tmp_path / "a", {"x": np.ones(5, np.float32), "y": np.ones(3, np.int64)})
    arrays = map_arrays(tmp_path / "a")

    def owner(array):
        while isinstance(array.base, np.ndarray):
            array = array.base
        return array

    assert isinstance(owner(arrays["x"]), np.memmap)
    assert type(arrays["x"]) is np.ndarray
    with pytest.raises(ValueError, match="read-only"):
        arrays["x"][0] = 2
    assert all(array.flags.aligned for array in arrays.values())


def test_unaligned_file_of_another_tool_is_read(tmp_path):
    header = {
        "b": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]},
        "x": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
    }
    path = raw_file(tmp_path, header, b"\x01" + np.array([1.5, 2], "<f4").tobytes())
    arrays = map_arrays(path)
    assert arrays["x"].tolist() == [1.5, 2.0]
    assert arrays["x"].flags.aligned


def test_unstorable_dtype_is_refused_with_the_allowed_ones():
    with pytest.raises(StoreError, match="'words' has dtype <U1.*float32"):
        check_dtype("words", np.array(["a"]))
    with pytest.raises(StoreError, match="object"):
        check_dtype("x", np.array([None]))


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("header", "body", "length", "message"),
    [
        ({}, b"", 2**62, "header claims 4611686018427387904 bytes"),
        (b"not json", b"", None, "not JSON"),
        (b"[" * 100_000, b"", None, "not JSON"),
        ([1], b"", None, "not a JSON object"),
        ({"x": 3}, b"", None, "describes array 'x' wrongly"),
        ({"x": {**ONE, "dtype": "F8"}}, bytes(8), None, "describes array 'x' wrongly"),
        ({"x": {**ONE, "data_offsets": [0]}}, bytes(8), None, "describes array 'x' wrongly"),
        ({"x": {**ONE, "shape": [-2]}}, bytes(8), None, "negative"),
        ({"x": {**ONE, "shape": [2.0]}}, bytes(8), None, "fractional"),
        ({"x": {**ONE, "shape": [3]}}, bytes(8), None, "needs 12 bytes, has 8"),
        ({"x": {**ONE, "shape": [2**62, 4]}}, bytes(8), None, "needs"),
        ({"x": ONE}, bytes(7), None, "bytes 0-8 of 7"),
        ({"x": ONE}, bytes(9), None, "1 bytes belong to no array"),
        ({"x": {**ONE, "data_offsets": [4, 12]}}, bytes(12), None, "bytes 4-12"),
        ({"x": ONE, "y": ONE}, bytes(8), None, "bytes 0-8"),
    ],
)
def test_absurd_headers_are_refused(tmp_path, header, body, length, message):
    path = raw_file(tmp_path, header, body, length)
    with pytest.raises(StoreError, match=message) as caught:
        map_arrays(path)
    assert str(path) in str(caught.value)
    assert "save the model again" in str(caught.value)


@pytest.mark.parametrize("size", [0, 3, 8])
def test_file_shorter_than_its_header_is_refused(tmp_path, size):
    write_arrays(tmp_path / "a", {"x": np.ones(5)})
    path = tmp_path / "cut"
    path.write_bytes((tmp_path / "a").read_bytes()[:size])
    with pytest.raises(StoreError, match="header claims"):
        map_arrays(path)


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_any_strings_come_back(tmp_path_factory, strings):
    path = tmp_path_factory.mktemp("strings") / "names.jsonl"
    write_strings(path, strings)
    assert read_strings(path, len(strings)) == strings


def test_one_readable_line_each(tmp_path):
    path = tmp_path / "names.jsonl"
    write_strings(path, ["Straße", "two\nlines", ""])
    assert path.read_text(encoding="utf-8") == '"Straße"\n"two\\nlines"\n""\n'


def test_what_is_not_text_is_refused_by_position(tmp_path):
    with pytest.raises(StoreError, match=r"names\[1\] must be a str, got 7"):
        write_strings(tmp_path / "names.jsonl", ["a", 7])  # type: ignore[list-item]
    with pytest.raises(StoreError, match=r"names\[0\] is not valid Unicode"):
        write_strings(tmp_path / "names.jsonl", ["\ud800"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'"a"\n"b"', "cut off"),
        (b'"a"\n', "1 strings, the manifest says 2"),
        (b'"a", "b"\n', "the manifest says 2"),
        (b'"a"\n\n', "not a JSON string"),
        (b'"a"\n7\n', "not a JSON string"),
        (b'"a"\n"\xff"\n', "not a JSON string"),
    ],
)
def test_damaged_strings_are_named(tmp_path, content, message):
    path = tmp_path / "names.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        read_strings(path, 2)
