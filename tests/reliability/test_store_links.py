"""Links, pipes, devices, sockets and paths that leave a model folder are refused, at once."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
from pathlib import Path

import numpy as np
import pytest

from multitudes.errors import ConfigError, StoreError
from multitudes.store import State, load, read_manifest, read_state, save
from multitudes.store.manifest import Manifest, _checksum, check_foreign_file, check_name
from multitudes.tagger.reports.card import ModelCard

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX"),
    pytest.mark.timeout(20),  # an endless read is what these tests are about
]

FILES = ["manifest.json", "arrays.safetensors", "names.jsonl", "inner/arrays.safetensors",
         "inner/foreign/config.json"]  # fmt: skip
FOLDERS = ["", "inner", "inner/foreign"]


def write_foreign(folder: Path) -> None:
    (folder / "config.json").write_text("{}")


@pytest.fixture
def model(tmp_path):
    inner = State(
        "test-inner", arrays={"x": np.arange(5)}, folders={"foreign": write_foreign}, version=1
    )
    outer = State(
        "test-outer", {}, {"x": np.zeros(3)}, {"names": ["a"]}, {"inner": inner}, version=1
    )
    save(outer, tmp_path / "model")
    return tmp_path / "model"


def place(model: Path, name: str) -> Path:
    return model / name if name == "manifest.json" else data_of(model) / name


def data_of(model: Path) -> Path:
    return next(entry for entry in model.iterdir() if entry.name.startswith("data-"))


def link_to_copy(path: Path) -> None:
    copy = path.parent.parent.parent / f"copy-of-{path.name}"
    shutil.move(path, copy)
    path.symlink_to(copy)


def link_to_zero(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def listening(path: Path) -> None:
    path.unlink()
    before = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def device(path: Path) -> None:
    path.unlink()
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        (link_to_copy, "a link"),
        (link_to_zero, "a link"),
        (pipe, "a pipe"),
        (listening, "a socket"),
        (device, "a device"),
    ],
)
def test_a_file_that_is_none(model, name, harm, kind):
    harm(place(model, name))
    with pytest.raises(StoreError, match=f"{Path(name).name} is {kind}, expected a file"):
        read_state(model)
    with pytest.raises(StoreError, match=kind):
        read_state(model, verify=True, in_memory=True)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_the_place_of_a_file(model, name):
    folder_in_its_place(place(model, name))
    with pytest.raises(StoreError, match=r"is a folder, expected a file|is missing"):
        read_state(model)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_linked_folder(model, name, tmp_path):
    path = data_of(model) / name
    shutil.move(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link, expected a fol|is a link, expected a file"):
        read_state(model)


@pytest.mark.parametrize("name", ["stray", "inner/foreign/stray"])
def test_a_link_that_nothing_asks_for(model, name):
    (data_of(model) / name).symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="stray is a link"):
        read_state(model)


def test_a_linked_model_folder_is_fine(model, tmp_path):
    (tmp_path / "link").symlink_to(model)
    assert read_state(tmp_path / "link").strings["names"] == ["a"]


def test_links_are_explained(model):
    link_to_copy(place(model, "names.jsonl"))
    with pytest.raises(StoreError, match=r"cp -rL; with huggingface_hub, .*local_dir"):
        read_state(model)


def test_saving_does_not_follow_either(model):
    link_to_zero(model / "manifest.json")
    with pytest.raises(StoreError, match="files that are not a model"):
        save(State("test-outer", version=1), model)


def test_saving_copies_no_links(model, tmp_path):
    state = read_state(model)
    (data_of(model) / "inner" / "foreign" / "more").symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="is a link"):
        save(state, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_modules_of_the_root_that_are_endless_are_not_ours(model):
    (model / "modules.json").symlink_to("/dev/zero")
    save(State("test-outer", version=1), model)  # leaves it alone
    assert (model / "modules.json").is_symlink()


def test_a_card_that_is_endless_is_none(model):
    (model / "card.json").symlink_to("/dev/zero")
    assert ModelCard.read(model) is None


def test_a_huge_manifest_is_not_read(model):
    with (model / "manifest.json").open("r+b") as file:
        file.truncate(10**12)  # takes no space
    with pytest.raises(StoreError, match="more than 16,777,216 bytes"):
        read_manifest(model)


@pytest.mark.parametrize(
    "name", ["con", "aux", "nul", "com1", "lpt9", "..", "a/b", "a\\b", "c:x", "A", "", "x" * 101]
)
def test_names_that_no_file_may_have(name):
    with pytest.raises(StoreError):
        check_name(name, "a part")


@pytest.mark.parametrize(
    "name", ["nul.txt", "a/con", "a./b", "a.", "../a", "a/../b", "/a", "a\\b", "c:/x", "a//b", ".a"]
)
def test_names_that_no_foreign_file_may_have(name):
    with pytest.raises(StoreError):
        check_foreign_file(name, "foreign")


@pytest.mark.parametrize("name", ["../x.jsonl", "inner/../../x", "/etc/passwd", "C:\\x", "nul"])
@pytest.mark.parametrize("where", ["files", "strings", "parts", "folders", "data"])
def test_a_manifest_names_nothing_outside(model, name, where):
    content = json.loads((model / "manifest.json").read_bytes())
    del content["checksum"]
    if where == "data":
        content["data"] = name
    elif where == "files":
        content["files"][name] = next(iter(content["files"].values()))
    elif where == "folders":
        content["object"]["folders"] = [name]
    else:
        content["object"][where][name] = content["object"]["parts"].get("inner", 1)
    content["checksum"] = _checksum(content)
    with pytest.raises(StoreError):
        Manifest.from_bytes(json.dumps(content).encode(), "m")


@pytest.mark.parametrize(
    "path", ["../..", "/", "a/../../b", "C:/x", "a\\..\\b", 3, None, "1" * 300]
)
@pytest.mark.parametrize("file", ["modules.json", "model.safetensors.index.json"])
def test_an_encoder_names_no_path_outside_its_folder(tmp_path, file, path):
    pytest.importorskip("torch")
    folders = pytest.importorskip("multitudes.encoder.backbone.folders")
    content = (
        [{"type": "x.Transformer", "path": path}]
        if file == "modules.json"
        else {"weight_map": {"w": path}}
    )
    (tmp_path / file).write_text(json.dumps(content))
    read = folders._layout if file == "modules.json" else folders._check_shards
    with pytest.raises(ConfigError, match="not a path inside it"):
        read(tmp_path)  # what read_encoder calls before transformers reads anything


def test_an_encoder_with_endless_brackets_is_refused(tmp_path):
    pytest.importorskip("torch")
    folders = pytest.importorskip("multitudes.encoder.backbone.folders")
    (tmp_path / "modules.json").write_text("[" * 100_000)
    with pytest.raises(ConfigError, match=r"modules\.json cannot be read"):
        folders._layout(tmp_path)


def test_the_root_gets_no_modules_that_lead_out(tmp_path):
    def write(folder: Path) -> None:
        (folder / "modules.json").write_text('[{"path": "../../../../etc"}]')

    with pytest.raises(StoreError, match=r"got '\.\./"):
        save(State("test-x", folders={"foreign": write}, version=1), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_load_refuses_too(model):
    link_to_zero(place(model, "arrays.safetensors"))
    with pytest.raises(StoreError, match="is a link"):
        load(model)
