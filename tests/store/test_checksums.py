"""The first load compares every file with its checksum; that it was whole is remembered."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.loading import as_first_format
from multitudes import memory
from multitudes.errors import ResourceError, StoreError
from multitudes.labels import LabelTree
from multitudes.store import State, load, read_manifest, read_state, reading, remembered, save
from multitudes.store.manifest import _checksum

from .box import Box, number_of, numbered


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model whose files are old enough to be remembered, and an empty cache folder."""
    monkeypatch.setenv("MULTITUDES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(remembered, "_YOUNG", -60.0)
    save(numbered(4), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def compared(monkeypatch):
    """The names of the files that were compared with a checksum, and how."""
    names: list[tuple[str, bool]] = []
    real = reading.check_files

    def check_files(folder, files, *, certain):
        names.extend((name, certain) for name in files)
        real(folder, files, certain=certain)

    monkeypatch.setattr(reading, "check_files", check_files)
    return names


def file_of(model: Path, name: str) -> Path:
    return model / read_manifest(model).data_folder / name


def flip(path: Path, at: int = -1) -> None:
    """Change a bit, and put the time of the last change back, as a careful forger would."""
    times = path.stat()
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


ALL = ["arrays.safetensors", "names.jsonl", "inner/arrays.safetensors", "inner/words.jsonl"]


def test_all_files_are_compared_once(model, compared):
    for _ in range(3):
        assert number_of(load(model)) == 4
    assert sorted(compared) == sorted((name, False) for name in ALL)


def test_verify_always_compares_with_sha256(model, compared):
    load(model)
    compared.clear()
    load(model, verify=True)
    assert sorted(compared) == sorted((name, True) for name in ALL)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("options", [{}, {"in_memory": True}, {"verify": True}])
@pytest.mark.parametrize("loaded_before", [False, True])
def test_a_flipped_bit_is_found_wherever_it_is(model, name, options, loaded_before):
    if loaded_before:
        load(model)
    flip(file_of(model, name))
    with pytest.raises(StoreError, match=f"{Path(name).name} is damaged: its (xxh3_64|SHA-256)"):
        load(model, **options)


@pytest.mark.parametrize("in_memory", [False, True])
def test_files_that_were_swapped_are_found(tmp_path, in_memory):
    save(
        Box(arrays={"a": np.arange(9)}, inner=Box(arrays={"a": np.arange(9)[::-1]})), tmp_path / "m"
    )
    a, b = (
        file_of(tmp_path / "m", "arrays.safetensors"),
        file_of(tmp_path / "m", "inner/arrays.safetensors"),
    )
    a.rename(tmp_path / "x")
    b.rename(a)
    (tmp_path / "x").rename(b)
    with pytest.raises(StoreError, match="xxh3_64"):
        load(tmp_path / "m", in_memory=in_memory)


def test_nothing_is_written_into_the_model_folder(model):
    before = sorted(model.rglob("*"))
    load(model)
    assert sorted(model.rglob("*")) == before
    assert any((model.parent / "cache").rglob("*-files"))


def test_another_library_version_checks_again(model, compared, monkeypatch):
    load(model)
    compared.clear()
    monkeypatch.setattr(remembered, "__version__", "9.9")
    load(model)
    assert len(compared) == len(ALL)


def test_young_files_are_not_remembered(model, compared, monkeypatch):
    monkeypatch.setattr(remembered, "_YOUNG", 3.0)
    for _ in range(2):
        load(model)
    assert len(compared) == 2 * len(ALL)


def test_without_a_cache_folder_all_is_checked_again(model, compared, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MULTITUDES_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        load(model)
    assert len(compared) == 2 * len(ALL)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_cache_folder_that_others_may_write_to_does_not_count(model, compared, tmp_path):
    load(model)
    (tmp_path / "cache" / "checked-models").chmod(0o777)
    load(model)
    assert len(compared) == 2 * len(ALL)


def test_the_cache_does_not_grow_without_end(model, monkeypatch, tmp_path):
    monkeypatch.setattr(remembered, "_MOST", 3)
    for number in range(20):
        remembered.remember(f"{number:03}", "files")
        now = time.time() + number
        os.utime(tmp_path / "cache" / "checked-models" / f"{number:03}-files", (now, now))
    kept = sorted(path.name for path in (tmp_path / "cache" / "checked-models").iterdir())
    assert len(kept) <= 6
    assert kept[-1] == "019-files"


def test_the_contents_of_our_classes_are_remembered(model, monkeypatch):
    calls = []
    real = LabelTree.check_state
    monkeypatch.setattr(LabelTree, "check_state", lambda state: calls.append(1) or real(state))
    save(LabelTree.flat(8), model)
    for options in ({}, {}, {"in_memory": True}, {"verify": True}):
        assert load(model, **options) == LabelTree.flat(8)
    assert len(calls) == 2  # the first load, and the one that verifies


def test_those_of_other_packages_are_not_since_they_may_change(model, monkeypatch):
    calls = []
    monkeypatch.setattr(Box, "check_state", lambda state: calls.append(1), raising=False)
    save(Box(), model)
    for _ in range(2):
        load(model)
    assert len(calls) == 2


def test_a_model_of_the_first_format_is_held_against_its_sha256(model):
    as_first_format(model)
    assert number_of(load(model)) == 4
    flip(file_of(model, "names.jsonl"), at=3)
    with pytest.raises(StoreError, match="SHA-256"):
        load(model)


def test_a_new_manifest_without_fast_checksums_is_refused(model):
    content = json.loads((model / "manifest.json").read_bytes())
    del content["checksum"]
    for entry in content["files"].values():
        del entry["xxh3_64"]
    content["checksum"] = _checksum(content)
    (model / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(StoreError, match="not a valid manifest"):
        load(model)


def test_a_file_that_is_changed_while_it_is_loaded(model, monkeypatch):
    real = reading.Reading._state

    def change_afterwards(self, *arguments):
        state = real(self, *arguments)
        with file_of(model, "names.jsonl").open("ab") as file:
            file.write(b'"more"\n')
        return state

    monkeypatch.setattr(reading.Reading, "_state", change_afterwards)
    with pytest.raises(StoreError, match="changed while it was loaded"):
        read_state(model)


class TestInMemory:
    def test_it_is_the_same(self, model):
        assert number_of(load(model, in_memory=True)) == 4

    def test_arrays_are_read_only_and_aligned(self, model):
        for state in (read_state(model, in_memory=True), read_state(model)):
            array = state.arrays["n"]
            assert not array.flags.writeable
            assert array.flags.aligned

    @pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
    def test_no_file_stays_mapped(self, model):
        def mapped() -> bool:
            return str(model) in Path("/proc/self/maps").read_text()

        box = load(model, in_memory=True)
        assert not mapped()
        box = load(model)
        assert mapped()  # or this test shows nothing
        del box

    def test_a_file_cut_or_overwritten_later_changes_nothing(self, model):
        box = load(model, in_memory=True)
        for name in ALL:
            with file_of(model, name).open("r+b") as file:
                file.truncate(0)
        assert number_of(box) == 4

    def test_memory_is_asked_for_first(self, tmp_path):
        save(State("test-x", arrays={"x": np.zeros(3_000_000)}, version=1), tmp_path / "m")
        with memory.limited(1), pytest.raises(ResourceError, match="m: its arrays, read into"):
            read_state(tmp_path / "m", in_memory=True)
        with memory.limited(1):
            read_state(tmp_path / "m")  # mapped ones take none
