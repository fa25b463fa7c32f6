from __future__ import annotations

import dataclasses
import json

import pytest

from multitudes.errors import StoreError
from multitudes.store import State, load, read_manifest, read_state, register, save
from multitudes.store.foreign import on_disk
from multitudes.store.manifest import Manifest, _checksum
from multitudes.store.opening import files_below

from .box import Box


class Carrier:
    """Holds one folder of foreign files, as a dict of path to content."""

    def __init__(self, files: dict[str, str], part: Box | None = None) -> None:
        self.files, self.part = files, part

    def write(self, folder):
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)

    def to_state(self) -> State:
        parts = {} if self.part is None else {"part": self.part.to_state()}
        return State("test-carrier", parts=parts, folders={"foreign": self.write})

    @classmethod
    def from_state(cls, state):
        with on_disk(state.folders["foreign"]) as folder:
            return cls({name: (folder / name).read_text() for name in files_below(folder)})


register("test-carrier", Carrier)
FILES = {"config.json": "{}", "1_Pooling/config.json": "[1]", "model.safetensors": "x" * 100}
MODULES = json.dumps([{"idx": 0, "path": ""}, {"idx": 1, "path": "1_Pooling"}])


@pytest.fixture
def model(tmp_path):
    save(Carrier(FILES), tmp_path / "model")
    return tmp_path / "model"


def home(model):
    return model / read_manifest(model).data_folder / "foreign"


def test_foreign_files_come_back(model):
    assert load(model, verify=True).files == FILES


def test_a_state_that_was_read_can_be_saved_again(model, tmp_path):
    save(read_state(model), tmp_path / "copy")
    assert load(tmp_path / "copy", verify=True).files == FILES


def test_an_object_is_rebuilt_without_a_model_folder():
    assert Carrier.from_state(Carrier(FILES).to_state()).files == FILES


@pytest.mark.parametrize("name", sorted(FILES))
def test_missing_and_changed_files_are_named(model, name):
    path = home(model) / name
    content = path.read_bytes()
    path.write_bytes(b"?" * len(content))
    with pytest.raises(StoreError, match="its xxh3_64 is not the one in the manifest"):
        load(model)
    with pytest.raises(StoreError, match="its SHA-256 is not the one in the manifest"):
        load(model, verify=True)
    path.unlink()
    with pytest.raises(StoreError, match=f"{path.name} is missing"):
        load(model)


def test_a_file_that_somebody_added_is_refused(model):
    (home(model) / "1_Pooling" / "adapter.json").write_text("{}")
    with pytest.raises(StoreError, match="adapter.json is damaged: it is not in the manifest"):
        load(model)


def test_links_and_odd_names_are_refused(tmp_path):
    def link(folder):
        (folder / "a").symlink_to(tmp_path)

    carrier = Carrier({})
    carrier.write = link
    with pytest.raises(StoreError, match="is a link"):
        save(carrier, tmp_path / "model")
    with pytest.raises(StoreError, match=r"got '\.hidden'"):
        save(Carrier({".hidden": ""}), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_function_that_fails_leaves_the_old_model(model):
    def broken(folder):
        (folder / "half").write_text("")
        raise OSError("disk is full")

    carrier = Carrier({})
    carrier.write = broken
    with pytest.raises(StoreError, match="disk is full"):
        save(carrier, model)
    assert load(model, verify=True).files == FILES


def test_a_part_and_a_folder_of_one_name(tmp_path):
    state = dataclasses.replace(Carrier({}).to_state(), parts={"foreign": Box().to_state()})
    with pytest.raises(StoreError, match="a part and a folder named 'foreign'"):
        save(state, tmp_path / "model")


@pytest.mark.parametrize(
    "name", ["foreign/../../x", "foreign//x", "foreign/.x", "/x", "foreign/a\\b", "other/x"]
)
def test_a_manifest_cannot_point_outside(model, name):
    content = json.loads((model / "manifest.json").read_bytes())
    del content["checksum"]
    content["files"][name] = {"bytes": 1, "sha256": "a", "xxh3_64": "a"}
    content["checksum"] = _checksum(content)
    with pytest.raises(StoreError, match="disagrees with itself"):
        Manifest.from_bytes(json.dumps(content).encode(), "m")


class TestModulesAtTheRoot:
    def paths(self, model):
        return [module["path"] for module in json.loads((model / "modules.json").read_bytes())]

    def test_they_point_to_the_current_data(self, model):
        for _ in range(2):
            save(Carrier({**FILES, "modules.json": MODULES}, part=Box()), model)
            data = read_manifest(model).data_folder
            assert self.paths(model) == [f"{data}/foreign", f"{data}/foreign/1_Pooling"]
            assert (model / self.paths(model)[1] / "config.json").is_file()

    def test_absent_without_an_encoder(self, model):
        assert not (model / "modules.json").exists()

    def test_gone_when_another_kind_of_model_takes_the_place(self, model):
        save(Carrier({"modules.json": MODULES}), model)
        save(Box(), model)
        assert not (model / "modules.json").exists()

    @pytest.mark.parametrize("files", [{}, {"modules.json": MODULES}])
    def test_a_file_of_the_user_stays(self, model, files):
        (model / "modules.json").write_text('[{"path": "mine"}]')
        save(Carrier(files), model)
        assert self.paths(model) == ["mine"]
