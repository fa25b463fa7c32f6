"""A model folder full of code: loading it runs none of it."""

from __future__ import annotations

import builtins
import json
import pickle
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from multitudes.errors import StoreError
from multitudes.store import load
from tests.golden.make import CURRENT
from tests.store.forging import data_of, forge


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (exec, (f"open({str(self.mark)!r}, 'w').close()",))


@pytest.fixture
def mark(tmp_path, monkeypatch) -> Path:
    """A file that appears when something of a model is executed, by whatever way."""
    path = tmp_path / "executed"

    def refused(*arguments, **options):
        path.touch()
        raise AssertionError("code of a file was about to run")

    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "load", refused)  # not pickle.load: numba's own cache needs it
    return path


def with_code(folder: Path, mark: Path) -> None:
    """Fill a folder with whatever some library is known to execute."""
    source = f"open({str(mark)!r}, 'w').close()\nclass Evil: pass\n"
    for name in ("modeling_evil.py", "__init__.py", "conftest.py", "setup.py", "custom_st.py"):
        (folder / name).write_text(source)
    bomb = pickle.dumps(Bomb(mark))
    for name in ("pytorch_model.bin", "model.pt", "model.pkl", "arrays.npy", "training_args.bin"):
        (folder / name).write_bytes(bomb)
    assert mark.name in bomb.decode("latin-1"), "or the bomb shows nothing"


def test_the_bomb_works(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "executed")))
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["tagger", "disentangled", "omikuji-forest"])
def test_files_beside_those_of_a_model(tmp_path, mark, name):
    shutil.copytree(CURRENT / name / "model", tmp_path / "model")
    data = data_of(tmp_path / "model")
    for folder in [tmp_path / "model", data, *(p for p in data.rglob("*") if p.is_dir())]:
        with_code(folder, mark)
    load(tmp_path / "model")  # they are not files of the model, and nobody opens them
    assert not mark.exists()


KINDS = ["os:system", "builtins.exec", "multitudes.tagger:Tagger", "../x", "__import__", ""]


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_names_a_class(tmp_path, mark, monkeypatch, kind):
    shutil.copytree(CURRENT / "xr-linear" / "model", tmp_path / "model")
    forge(tmp_path / "model", lambda content: content["object"].update(kind=kind))
    real, asked = builtins.__import__, []
    monkeypatch.setattr(
        builtins, "__import__", lambda n, *a, **k: asked.append(n) or real(n, *a, **k)
    )
    with pytest.raises(StoreError, match="does not know"):
        load(tmp_path / "model")
    assert not kind or kind not in asked


def change_json(path: Path, **changes: object) -> None:
    content = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps({**content, **changes}))


def test_a_text_encoder_with_code_of_its_own(tmp_path, mark):
    """As models of a hub ask for it: auto_map, trust_remote_code, pickled weights, modules."""
    pytest.importorskip("transformers")
    model = tmp_path / "model"
    shutil.copytree(CURRENT / "prime" / "model", model)
    [config] = data_of(model).rglob("sentence-transformers/config.json")
    home = config.parent
    with_code(home, mark)
    auto_map = dict.fromkeys(("AutoConfig", "AutoModel", "AutoTokenizer"), "modeling_evil.Evil")
    change_json(config, auto_map=auto_map, trust_remote_code=True)
    change_json(home / "tokenizer_config.json", auto_map=auto_map, trust_remote_code=True)
    forge(model)
    with suppress(StoreError):  # refused is as good
        load(model)
    assert not mark.exists()


def test_a_text_encoder_of_pickled_weights_alone(tmp_path, mark):
    pytest.importorskip("transformers")
    model = tmp_path / "model"
    shutil.copytree(CURRENT / "prime" / "model", model)
    [weights] = data_of(model).rglob("sentence-transformers/model.safetensors")
    with_code(weights.parent, mark)
    weights.unlink()
    forge(model)
    with pytest.raises(StoreError, match="safetensors"):
        load(model)
    assert not mark.exists()


def test_a_module_of_sentence_transformers_that_is_a_class_of_the_folder(tmp_path, mark):
    pytest.importorskip("transformers")
    model = tmp_path / "model"
    shutil.copytree(CURRENT / "prime" / "model", model)
    [modules] = data_of(model).rglob("sentence-transformers/modules.json")
    with_code(modules.parent, mark)
    listed = json.loads(modules.read_bytes())
    listed[0]["type"] = "modeling_evil.Evil"
    modules.write_text(json.dumps(listed))
    forge(model)
    with pytest.raises(StoreError, match="chains Evil"):
        load(model)
    assert not mark.exists()
