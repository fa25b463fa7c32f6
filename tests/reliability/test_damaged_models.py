"""Damage of every kind is a StoreError that names the folder, also if the checksums were redone."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from multitudes.cli import main
from multitudes.errors import StoreError
from multitudes.store import load
from tests.golden.make import CURRENT
from tests.store.forging import data_of, forge

MODELS = ["tagger", "disentangled", "omikuji-forest", "eagle"]
LARGE = [2**31, 2**63, 2**64, 10**30, -1, 1.5, None, "1", [], True, float("nan"), float("inf")]


@pytest.fixture(params=MODELS)
def model(request, tmp_path) -> Path:
    shutil.copytree(CURRENT / request.param / "model", tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def tagger(tmp_path) -> Path:
    shutil.copytree(CURRENT / "tagger" / "model", tmp_path / "model")
    return tmp_path / "model"


def refused(model: Path, **options) -> str:
    with pytest.raises(StoreError) as caught:
        load(model, **options)
    assert str(model) in str(caught.value)
    return str(caught.value)


def files_of(model: Path) -> list[Path]:
    return sorted(path for path in data_of(model).rglob("*") if path.is_file())


def header_of(path: Path) -> tuple[dict[str, Any], bytes]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def with_header(path: Path, header: str, body: bytes) -> None:
    text = header.encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.mark.parametrize("redone", [False, True])
def test_every_file_cut_short(model, redone):
    for path in files_of(model):
        raw = path.read_bytes()
        for content in (b"", raw[:7], raw[: len(raw) // 2], raw[:-1], raw + b"\0"):
            path.write_bytes(content)
            if redone:
                forge(model)
            refused(model)
            path.write_bytes(raw)
            forge(model)
    load(model)


def test_every_byte_of_a_small_file_flipped(tagger):
    path = min(files_of(tagger), key=lambda path: path.stat().st_size)
    raw = path.read_bytes()
    for at in range(len(raw)):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 16]) + raw[at + 1 :])
        assert "its xxh3_64 is not the one in the manifest" in refused(tagger)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.update(dtype="F128"), "describes array"),
        (lambda e: e.update(dtype=["I32"]), "describes array"),
        (lambda e: e.update(shape=[0, 2**70]), "needs 0 bytes|cannot have shape"),
        (lambda e: e.update(shape=[2**62, 4]), "needs"),
        (lambda e: e.update(shape=[-1]), "negative"),
        (lambda e: e.update(shape=[1] * 99, data_offsets=[0, 8]), "cannot have shape|needs"),
        (lambda e: e.update(data_offsets=[0, 10**30]), "needs"),
        (lambda e: e.update(data_offsets=[1, 0]), "needs"),
        (lambda e: e.update(data_offsets=[0]), "describes array"),
        (lambda e: e.clear(), "describes array"),
    ],
)
def test_headers_that_lie(model, change, message):
    path = next(path for path in files_of(model) if path.suffix == ".safetensors")
    header, body = header_of(path)
    change(next(iter(header.values())))
    with_header(path, json.dumps(header), body)
    forge(model)
    with pytest.raises(StoreError, match=message):
        load(model)
    refused(model, in_memory=True)


def test_arrays_that_overlap(tagger):
    path = max(files_of(tagger), key=lambda p: p.suffix == ".safetensors" and len(header_of(p)[0]))
    header, body = header_of(path)
    first, second = list(header)[:2]
    begin = header[first]["data_offsets"][0]
    length = header[second]["data_offsets"][1] - header[second]["data_offsets"][0]
    header[second]["data_offsets"] = [begin, begin + length]
    with_header(path, json.dumps(header), body)
    forge(tagger)
    refused(tagger)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        "[" * 200_000 + "]" * 200_000,
        '{"a":' * 150 + "1" + "}" * 150,
        '{"a": "\\ud800"}',
        '{"a": ' + "9" * 5000 + "}",
        "{'a': 1}",
        "\ufeff{}",
        "nul",
    ],
    ids=["a key twice", "deep", "deep objects", "surrogate", "digits", "quotes", "mark", "cut"],
)
def test_json_that_is_not_plain(tagger, text):
    raw = (tagger / "manifest.json").read_bytes()
    (tagger / "manifest.json").write_text(text)
    assert "is not JSON" in refused(tagger)
    (tagger / "manifest.json").write_bytes(raw)
    path = next(path for path in files_of(tagger) if path.suffix == ".safetensors")
    with_header(path, text, header_of(path)[1])
    forge(tagger)
    assert "header is not JSON" in refused(tagger)


def test_a_second_meaning_of_a_manifest_is_refused(tagger):
    """The checksum is of what was parsed: the first of two keys would be hidden from it."""
    raw = (tagger / "manifest.json").read_bytes()
    (tagger / "manifest.json").write_bytes(raw.replace(b'"kind":', b'"kind": "x", "kind":', 1))
    assert "the key 'kind' twice" in refused(tagger)


def entries(content: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Places of a manifest at which a number stands."""
    found: list[tuple[Any, Any]] = [(entry, "bytes") for entry in content["files"].values()]

    def walk(part: dict[str, Any]) -> None:
        found.extend((part["strings"], name) for name in part["strings"])
        found.extend((array["shape"], i) for array in part["arrays"].values() for i in
                     range(len(array["shape"])))  # fmt: skip
        found.append((part, "version"))
        for inner in part["parts"].values():
            walk(inner)

    walk(content["object"])
    return found


@pytest.mark.parametrize("value", LARGE, ids=repr)
def test_numbers_of_a_manifest(tagger, value):
    raw = (tagger / "manifest.json").read_bytes()
    n_places = len(entries(json.loads(raw)))
    for place in range(0, n_places, 3):

        def change(content: dict[str, Any], place: int = place) -> None:
            holder, key = entries(content)[place]
            holder[key] = value

        forge(tagger, change)
        refused(tagger)
        (tagger / "manifest.json").write_bytes(raw)


@pytest.mark.parametrize("name", ["label-tree", "tfidf"])
def test_a_damaged_tree_or_vocabulary_is_code_4_with_the_path(tagger, capfd, name):
    if name == "label-tree":
        path = next(path for path in files_of(tagger) if path.parent.name == "tree")
        raw = bytearray(path.read_bytes())
        raw[-4:] = b"\xff\xff\xff\x7f"  # a label, or a position, of two billion
        path.write_bytes(raw)
    else:
        path = next(path for path in files_of(tagger) if path.name == "words.jsonl")
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([*lines[:-1], lines[0]]))  # a word twice
    forge(tagger)
    with pytest.raises(SystemExit) as caught:
        main(["predict", str(tagger), "--text", "a small dog"])
    assert caught.value.code == 4
    message = " ".join(capfd.readouterr().err.split())
    assert message.startswith(f"error: {tagger}, saved by multitudes ")
    assert name in message
    assert "restore" in message


VERBS = {
    "predict": ["MODEL", "--text", "a"],
    "serve": ["MODEL"],
    "update": ["MODEL", "DATA"],
    "calibrate": ["MODEL", "DATA"],
    "evaluate": ["MODEL", "DATA"],
    "compare": ["MODEL", "MODEL", "DATA"],
    "inspect": ["MODEL"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_loads_a_model_verifies_it(tagger, tmp_path, capfd, verb):
    """A file that is damaged though its fast checksum is right, which only SHA-256 finds."""
    data = tmp_path / "data.jsonl"
    data.write_text('{"text": "a small dog", "labels": ["dog"]}\n')

    def change(content: dict[str, Any]) -> None:
        content["files"]["labels.jsonl"]["sha256"] = "0" * 64

    forge(tagger, change)
    load(tagger)
    given = {"MODEL": str(tagger), "DATA": str(data)}
    command = [verb, *(given.get(word, word) for word in VERBS[verb]), "--verify"]
    with pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == 4
    assert "SHA-256" in capfd.readouterr().err
