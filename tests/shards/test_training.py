"""Training on shards is training on the same files one after the other."""

import numpy as np
import pytest

from multitudes.data import read_dataset
from multitudes.engine import LocalCluster
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
