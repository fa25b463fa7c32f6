"""A state whose arrays lie in a file already: the file gets a second name in the model."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from multitudes.files import disk
from multitudes.store import State, read_manifest, read_state, save
from multitudes.store.checksums import entries_of, entry_of_arrays
from multitudes.store.files import dump_arrays, map_arrays, write_arrays
from multitudes.store.state import StoredArrays

PARTS = [
    {"x": np.arange(5, dtype=np.uint8), "y": np.ones((2, 3), np.float32)},
    {"x": np.array([300, 301], np.uint16), "y": np.zeros((0, 3), np.float32)},
]


def whole():
    return {name: np.concatenate([part[name] for part in PARTS]) for name in PARTS[0]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "joined.safetensors"
    with disk.new_file(path) as file:
        dump_arrays(file, PARTS)
    return path


@pytest.fixture
def state(file):
    inner = State("test-inner", arrays=map_arrays(file), version=1)
    inner.note_stored(StoredArrays(file, entry_of_arrays(PARTS)))
    return State("test-outer", parts={"inner": inner}, version=1)


def stored(model):
    return model / read_manifest(model).data_folder / "inner" / "arrays.safetensors"


def test_parts_make_the_file_of_the_whole(file, tmp_path):
    write_arrays(tmp_path / "whole", whole())
    assert file.read_bytes() == (tmp_path / "whole").read_bytes()
    assert entries_of(tmp_path, [file.name])[file.name] == entry_of_arrays(PARTS)


def test_the_file_is_linked_and_its_checksums_are_those_of_a_copy(state, file, tmp_path):
    save(state, tmp_path / "model")
    assert stored(tmp_path / "model").samefile(file)
    file.unlink()
    found = read_state(tmp_path / "model", verify=True).parts["inner"].arrays
    for name, array in whole().items():
        np.testing.assert_array_equal(found[name], array)


def test_where_no_file_can_be_linked_it_is_copied(state, file, tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    save(state, tmp_path / "model")
    copy = stored(tmp_path / "model")
    assert not copy.samefile(file)
    assert copy.read_bytes() == file.read_bytes()
    assert read_state(tmp_path / "model", verify=True).parts["inner"].arrays.keys() == {"x", "y"}


def test_a_changed_state_is_written_anew(state, tmp_path):
    inner = replace(state.parts["inner"], arrays={"x": np.zeros(2)})
    save(replace(state, parts={"inner": inner}), tmp_path / "model")
    found = read_state(tmp_path / "model", verify=True).parts["inner"].arrays
    assert found["x"].tolist() == [0, 0]
