"""Models saved by this version and by released ones load, and predict what they predicted then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from multitudes import load
from multitudes.store import read_manifest
from multitudes.store.registry import class_of, kinds

from .make import CURRENT, HERE, RECIPES, outputs

GOLDEN = sorted(HERE.glob("*/*/expected.json"))
IDS = [str(path.parent.relative_to(HERE)) for path in GOLDEN]
# Encoders may compute in bfloat16, if the processor is fast at it.
TOLERANCE = {"prime": 0.02, "encoder-features": 0.02}
LARGEST = 1_500_000  # bytes of a version's folder


@pytest.mark.parametrize("path", GOLDEN, ids=IDS)
def test_predictions_are_the_same(path: Path):
    kept = json.loads(path.read_text(encoding="utf-8"))
    model = load(path.parent / "model", verify=True)
    inputs = kept["inputs"]
    if not isinstance(inputs[0], str):
        inputs = np.array(inputs, np.float32)
    found = outputs(model, inputs)
    assert found.keys() == kept["outputs"].keys()
    for name, rows in kept["outputs"].items():
        for row, expected in zip(found[name], rows, strict=True):
            compare(row, expected, TOLERANCE.get(path.parent.name, 1e-4))


def compare(found, expected, tolerance: float) -> None:
    """Compare rows of numbers, or scores by label: their order may change where they are equal."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = [found[label] for label in expected], list(expected.values())
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=tolerance)


def test_every_kind_has_a_golden_model():
    ours = {kind for kind in kinds() if class_of(kind).__module__.startswith("multitudes.")}
    manifests = [read_manifest(CURRENT / name / "model") for name in RECIPES]
    there = {part.kind for manifest in manifests for _, part in manifest.root.walk()}
    assert sorted(ours - there) == [], "add a recipe to tests/golden/make.py and run it"


def test_every_version_of_a_kind_is_there():
    """Of the contents that classes write now; older versions lie in the folders of releases."""
    for name in RECIPES:
        for _, part in read_manifest(CURRENT / name / "model").root.walk():
            if part.kind in kinds():
                assert part.version == getattr(class_of(part.kind), "state_version", 1), name


def test_they_are_small():
    files = [path for path in CURRENT.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    assert {path.name for path in CURRENT.iterdir()} == set(RECIPES)
