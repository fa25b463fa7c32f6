"""No level of a stored tree leads a kernel out of its arrays, however right its hashes are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from multitudes import load, save
from multitudes.cli.app import app
from multitudes.errors import StoreError
from multitudes.store import State, read_state

from .changed_states import GOLDEN, with_part

TAGGER = GOLDEN / "tagger" / "model"
CHANGES = [
    ("entry_child", "uint32", 4_000_000_000, "entry_child is wider"),
    ("entry_child", "uint16", 65_535, "a child that its cluster does not have"),
    ("row_feature", "int32", 2_000_000_000, "a feature that there is not|does not ascend"),
    ("row_feature", "int32", -1, "a feature that there is not"),
    ("row_entries", "uint32", 4_000_000_000, "the number of entries"),
    ("chunk_rows", "int32", 2_000_000_000, "chunk_rows must be counts that add up"),
    ("chunk_rows", "int32", -5, "chunk_rows must be counts that add up"),
]


def evil(field: str, dtype: str, value: int) -> State:
    """A tagger whose leaves have another number in one place."""
    state = read_state(TAGGER)
    path = ("model", "level-0")
    level = state.parts["model"].parts["level-0"]
    array = np.array(level.arrays[field]).astype(dtype)
    array[-1 if field == "entry_child" else 0] = value  # the last child of a row
    return with_part(state, path, replace(level, arrays={**level.arrays, field: array}))


@pytest.mark.parametrize(("field", "dtype", "value", "problem"), CHANGES)
def test_a_level_that_points_outside_is_refused(tmp_path, field, dtype, value, problem):
    save(evil(field, dtype, value), tmp_path / "model")
    with pytest.raises(StoreError, match=problem) as caught:
        load(tmp_path / "model", verify=True)
    assert str(tmp_path / "model") in str(caught.value)
    assert "level-0" in str(caught.value)


@pytest.mark.parametrize("verb", [["predict", "--text", "a dog"], ["inspect", "--tree"]])
def test_the_command_line_says_so_with_the_code_of_a_damaged_model(tmp_path, verb):
    save(evil("entry_child", "uint16", 65_535), tmp_path / "model")
    name, *options = verb
    result = CliRunner().invoke(app, [name, str(tmp_path / "model"), *options])
    assert result.exit_code == 4, result.output
    assert "entry_child" in result.output


def test_offsets_of_a_tree_whose_differences_overflow_are_refused(tmp_path):
    """Round the circle of 64 bits in steps that are all positive, as differences."""
    state = read_state(GOLDEN / "xr-linear" / "model")
    tree = state.parts["tree"]
    arrays = dict(tree.arrays)
    quarter = 1 << 62
    around = [0, quarter, -2 * quarter, -quarter, len(arrays["slot_labels"])]
    arrays["offsets_2"] = np.array(around, np.int64)
    arrays["offsets_1"] = np.array([0, 2, 4], np.int64)
    save(with_part(state, ("tree",), replace(tree, arrays=arrays)), tmp_path / "model")
    with pytest.raises(StoreError, match="children, allowed is 0 or more"):
        load(tmp_path / "model")


def test_a_resumed_fit_trains_a_level_again_that_does_not_fit_its_tree(tmp_path):
    from multitudes import XRLinear

    rng = np.random.default_rng(0)
    X = rng.random((30, 6)).astype(np.float32)
    y = (rng.random((30, 8)) < 0.3) | np.eye(30, 8, dtype=bool)
    settings = {"branching": 2, "max_leaf_size": 2, "checkpoint": tmp_path / "kept"}
    before = XRLinear(**settings).fit(X, y)
    (level,) = Path(tmp_path / "kept").glob("*/level-0")
    state = read_state(level)
    feature = np.array(state.arrays["row_feature"])
    feature[-1] = 2_000_000_000
    save(replace(state, arrays={**state.arrays, "row_feature": feature}), level)
    again = XRLinear(**settings).fit(X, y)
    np.testing.assert_array_equal(again.predict(X).scores, before.predict(X).scores)
