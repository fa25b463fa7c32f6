"""Problem 5: whatever came from ``from multitudes import ...`` was Any to type checkers.

Here the package is read without running it, as they do; `tests/test_typing.py` lets mypy and
pyright read a script.
"""

from __future__ import annotations

import ast
from pathlib import Path

import griffe
import pytest

import multitudes

FRONT = griffe.load("multitudes", search_paths=[Path(multitudes.__file__).parents[1]])


@pytest.mark.parametrize("name", sorted(set(multitudes.__all__) - {"__version__"}))
def test_a_checker_finds_what_a_name_of_the_front_door_is(name):
    found = FRONT[name].final_target
    assert found.is_class or found.is_function
    assert found.canonical_path.rpartition(".")[2] == name


def test_parameters_of_the_tagger_are_known():
    parameters = [parameter.name for parameter in FRONT["Tagger"].final_target.parameters]
    assert parameters[:3] == ["self", "model", "features"]
    assert "modle" not in parameters


def test_no_fallback_lets_any_name_pass_a_checker():
    """A module with a `__getattr__` has every name, and all of them are Any."""
    tree = ast.parse(Path(multitudes.__file__).read_text(encoding="utf-8"))
    hidden = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "not TYPE_CHECKING"
    ]
    seen = [node for node in tree.body if node not in hidden]
    assert not any("__getattr__" in ast.unparse(node) for node in seen)
    assert any("__getattr__" in ast.unparse(node) for node in hidden)
