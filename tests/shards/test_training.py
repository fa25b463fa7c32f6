"""Training on shards is training on the same files one after the other."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.cli import main
from multitudes.data import Dataset, read_dataset, write_dataset
from multitudes.data.pieces import write_pieces
from multitudes.engine import LocalCluster
from multitudes.errors import ConfigError
from multitudes.shards import train_shards
from multitudes.store import read_state
from multitudes.tagger import Tagger

SETTINGS = {"max_leaf_size": 8, "branching": 4}


def arrays_of(state, path=""):
    found = {f"{path}{name}": array for name, array in state.arrays.items()}
    for name, part in state.parts.items():
        found |= arrays_of(part, f"{path}{name}/")
    return found


def assert_same(one, other):
    ours, theirs = (arrays_of(read_state(path)) for path in (one, other))
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    assert Tagger.load(one).classes_ == Tagger.load(other).classes_


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"features.min_df": 2, "features.char_ngrams": [3, 3], "features.max_features": 200},
        {"weights": "int8", "solver.loss": "logistic"},
    ],
)
def test_the_model_is_that_of_one_file(shards, tmp_path, settings):
    tagger = Tagger("xr-linear", settings=SETTINGS | settings)
    tagger.fit(read_dataset(tmp_path / "whole.jsonl")).save(tmp_path / "one")
    train_shards(
        Tagger("xr-linear", settings=SETTINGS | settings), shards, tmp_path / "many",
        run=tmp_path / "run", cluster=LocalCluster(2),
    )  # fmt: skip
    assert_same(tmp_path / "one", tmp_path / "many")


def test_features_in_shards_and_in_pieces(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(300, 60, 0.1, "csr", np.float32, random_state=rng)
    Y = sp.csr_array((rng.random((300, 40)) < 0.05).astype(np.float32))
    settings = {"max_leaf_size": 8}
    whole = Dataset(Y=Y, X=sp.csr_array(X))
    Tagger("xr-linear", settings=settings).fit(whole).save(tmp_path / "one")
    (tmp_path / "files").mkdir()
    for i, rows in enumerate((slice(0, 120), slice(120, 300))):
        write_dataset(whole[rows], tmp_path / "files" / f"part-{i}.txt", format="sparse-text")
    write_pieces(tmp_path / "pieces", X, Y, piece_size=70)
    for kind in ("files", "pieces"):
        tagger = Tagger("xr-linear", settings=settings)
        train_shards(tagger, tmp_path / kind, tmp_path / f"of-{kind}", run=tmp_path / f"run-{kind}")
    assert_same(tmp_path / "one", tmp_path / "of-pieces")
    texts = Tagger.load(tmp_path / "of-files").predict(X, top_k=3)  # written with fewer digits
    assert texts.to_lists() == Tagger.load(tmp_path / "one").predict(X, top_k=3).to_lists()


@pytest.mark.parametrize(
    ("tagger", "said"),
    [
        (Tagger("parabel"), "shards train the model xr-linear"),
        (Tagger("xr-linear", settings={"overlap": 2}), "without overlap"),
        (Tagger("xr-linear", settings={"negatives": "both"}), "negatives='sibling', got 'both'"),
        (Tagger("xr-linear", settings={"features.stem": "auto"}), "name the language"),
        (Tagger("xr-linear", features="hashing"), "not with HashingFeatures"),
    ],
)
def test_what_needs_all_data_at_once_is_refused(tagger, said, shards, tmp_path):
    with pytest.raises(ConfigError, match=said):
        train_shards(tagger, shards, tmp_path / "model", run=tmp_path / "run")


def test_the_command_line(shards, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (
        ["train", "shards/*.jsonl", "-o", "model", "-q", "--set", "max_leaf_size=8"],
        ["train", "whole.jsonl", "-o", "one", "-q", "-m", "xr-linear", "--set", "max_leaf_size=8"],
        ["predict", "model", "shards/*.jsonl", "-o", "found", "-q"],
        ["predict", "one", "whole.jsonl", "-o", "found.jsonl", "-q"],
        ["evaluate", "found", "shards/*.jsonl", "--json", "-q"],
        ["evaluate", "found.jsonl", "whole.jsonl", "--json", "-q"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert not ended.value.code, command
    ours, theirs = capsys.readouterr().out.split("\n}\n{")
    assert json.loads(f"{ours}}}") == json.loads(f"{{{theirs}")
    assert_same("model", "one")
    assert not list(tmp_path.glob(".model.run"))
