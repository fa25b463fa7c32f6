from __future__ import annotations

import numpy as np
import pytest

from multitudes.errors import StoreError
from multitudes.store import State, load, read_manifest, read_state, save
from multitudes.store.files import map_arrays, write_arrays
from multitudes.store.reading import checked_arrays
from multitudes.store.saving import describe

from .box import Box, number_of, numbered


@pytest.fixture
def model(tmp_path):
    save(numbered(4), tmp_path / "model")
    return tmp_path / "model"


def file_of(model, name: str):
    return model / read_manifest(model).data_folder / name


def test_everything_comes_back(model):
    box = load(model, verify=True)
    assert isinstance(box, Box)
    assert number_of(box) == 4
    assert isinstance(box.inner, Box)


def test_an_object_without_files_comes_back(tmp_path):
    save(Box({"a": [1, None, "x"]}), tmp_path / "model")
    assert load(tmp_path / "model").config == {"a": [1, None, "x"]}


def test_read_state_does_not_need_the_class(tmp_path):
    save(State("never-registered", arrays={"x": np.arange(3)}), tmp_path / "model")
    assert read_state(tmp_path / "model").arrays["x"].tolist() == [0, 1, 2]
    with pytest.raises(StoreError, match="'never-registered'"):
        load(tmp_path / "model")


def test_no_model_there(tmp_path):
    with pytest.raises(StoreError, match="there is no model at"):
        load(tmp_path / "nothing")
    with pytest.raises(StoreError, match="it has no manifest.json"):
        load(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is a file"):
        load(tmp_path / "file")


@pytest.mark.parametrize(
    "name", ["arrays.safetensors", "names.jsonl", "inner/arrays.safetensors", "inner/words.jsonl"]
)
def test_a_missing_or_truncated_file_is_named(model, name):
    path = file_of(model, name)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(
        StoreError, match=f"{path.name} is damaged: it has {len(content) - 1} bytes"
    ):
        load(model)
    path.unlink()
    with pytest.raises(StoreError, match=f"{path.name} is missing"):
        load(model)


def test_a_flipped_bit_is_found(model):
    path = file_of(model, "inner/arrays.safetensors")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="xxh3_64"):
        load(model)
    with pytest.raises(StoreError, match="SHA-256"):
        load(model, verify=True)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"b": np.zeros(4, "f4")}, r"disagree about the arrays \['a', 'b'\]"),
        ({"a": np.zeros(4, "i4")}, r"int32 \(4,\), the manifest says float32 \(4,\)"),
        ({"a": np.zeros((2, 2), "f4")}, r"float32 \(2, 2\), the manifest says float32 \(4,\)"),
    ],
)
def test_arrays_that_are_not_those_of_the_manifest(tmp_path, other, message):
    entry = describe(Box(arrays={"a": np.zeros(4, "f4")}).to_state())
    path = tmp_path / "arrays.safetensors"
    write_arrays(path, other)
    with pytest.raises(StoreError, match=message):
        checked_arrays(map_arrays(path), entry, path)


def test_a_class_that_cannot_use_the_state_gives_a_store_error(model, monkeypatch):
    def from_state(state):
        return state.config["a setting of a later version"]

    monkeypatch.setattr(Box, "from_state", from_state)
    with pytest.raises(StoreError, match="could not be rebuilt"):
        load(model)


def test_manifest_tells_shapes_without_opening_arrays(model):
    manifest = read_manifest(model)
    assert manifest.root.kind == "test-box"
    assert manifest.root.arrays["n"].shape == (50, 7)
    assert manifest.root.parts["inner"].strings == {"words": 100}
