from __future__ import annotations

import json

import numpy as np
import pytest

from multitudes.errors import StoreError
from multitudes.store.checksums import FileEntry
from multitudes.store.manifest import Manifest, _checksum, plain_json
from multitudes.store.saving import describe

from .box import Box, numbered

FOLDER = "data-" + "0" * 16


def manifest_of(box: Box) -> Manifest:
    root = describe(box.to_state())
    return Manifest(FOLDER, {name: FileEntry(1, "aa", "bb") for name in root.file_names()}, root)


def edited(change) -> bytes:
    """A manifest changed by somebody who also fixed its checksum."""
    content = json.loads(manifest_of(numbered(1)).to_bytes())
    del content["checksum"]
    change(content)
    content["checksum"] = _checksum(content)
    return json.dumps(content).encode()


def test_round_trip():
    manifest = manifest_of(numbered(3))
    assert Manifest.from_bytes(manifest.to_bytes(), "m") == manifest


def test_lists_the_files_of_parts():
    assert manifest_of(numbered(1)).root.file_names() == {
        "arrays.safetensors",
        "names.jsonl",
        "inner/arrays.safetensors",
        "inner/words.jsonl",
    }


def test_edited_setting_is_noticed():
    raw = manifest_of(numbered(1)).to_bytes().replace(b'"number": 1', b'"number": 2')
    with pytest.raises(StoreError, match="changed after the model was saved"):
        Manifest.from_bytes(raw, "m")


def test_newer_format_says_upgrade_before_anything_else():
    raw = json.dumps({"format": "multitudes-model", "format_version": 9, "library_version": "7.0"})
    with pytest.raises(StoreError, match=r"format 9 by multitudes 7\.0.*pip install --upgrade"):
        Manifest.from_bytes(raw.encode(), "m")


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json(raw):
    with pytest.raises(StoreError, match="m is not JSON"):
        Manifest.from_bytes(raw, "m")


@pytest.mark.parametrize("raw", [b"[]", b"{}", b'{"format": "something else"}', b"null"])
def test_foreign_manifest(raw):
    with pytest.raises(StoreError, match="not the manifest of a multitudes model"):
        Manifest.from_bytes(raw, "m")


def _set(*keys, value):
    def change(content):
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


def _deeply_nested(content):
    part = content["object"]["parts"]["inner"]
    for _ in range(40):
        part = {**part, "parts": {"inner": part}}
    content["object"]["parts"]["inner"] = part


@pytest.mark.parametrize(
    "change",
    [
        _set("data", value="../elsewhere"),
        _set("data", value="/etc"),
        _set("data", value=".."),
        _set("data", value=7),
        _set("files", "../../secret", value={"bytes": 1, "sha256": ""}),
        _set("files", value=[]),
        _set("files", "names.jsonl", "bytes", value=-1),
        _set("files", "names.jsonl", "bytes", value=True),
        _set("files", "names.jsonl", value=None),
        _set("object", "parts", "../up", value={}),
        _set("object", "parts", "inner", value={}),
        _set("object", "strings", "../../etc/passwd", value=3),
        _set("object", "strings", "names", value="many"),
        _set("object", "arrays", "n", "dtype", value="object"),
        _set("object", "arrays", "n", "dtype", value=["float32"]),
        _set("object", "arrays", "n", "shape", value=[1.5]),
        _set("object", "config", value=[]),
        _set("object", "kind", value=None),
        _set("object", "config", value={"n": 10**40}),
        _set("object", "config", value={"n": -(1 << 128)}),
        _set("format_version", value="1"),
        _set("format_version", value=0),
        _set("object", "version", value="1"),
        _set("object", "folders", value=["../up"]),
        lambda content: content.pop("object"),
        lambda content: content["files"].pop("names.jsonl"),
        _deeply_nested,
    ],
)
def test_wrong_structure_is_a_store_error(change):
    with pytest.raises(StoreError, match=r"^m "):
        Manifest.from_bytes(edited(change), "m")


def test_settings_become_plain_json():
    config = {"a": np.float32(0.5), "b": (1, np.int64(2)), "c": {"d": None, "e": True}}
    assert plain_json(config, "x") == {"a": 0.5, "b": [1, 2], "c": {"d": None, "e": True}}


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"a": {1}}, np.ones(2), b"bytes", 1 << 128, [-(10**400)]]
)
def test_settings_that_are_not_plain_are_refused(value):
    with pytest.raises(StoreError, match=r"setting x.* cannot be stored"):
        plain_json({"v": value}, "x")


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "a.b", "-x", "a\n", "ä"])
def test_names_that_are_no_file_names_are_refused(name):
    with pytest.raises(StoreError, match="must be named with a-z"):
        describe(Box(strings={name: ["x"]}).to_state())
