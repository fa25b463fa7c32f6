import doctest
import importlib

import pytest

pytest.importorskip("torch")

HEADINGS = ["What it optimizes", "Inputs", "Reference", "Relation to siblings", "Example"]


@pytest.mark.parametrize(
    "name", ["triplet", "dynamic_margin", "softmax", "regularizer", "multi_objective"]
)
def test_every_loss_is_explained_under_the_same_headings_and_its_example_runs(name):
    module = importlib.import_module(f"multitudes.encoder.losses.{name}")
    lines = module.__doc__.splitlines()
    assert [line for line in lines if line in HEADINGS] == HEADINGS
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0
