"""A stored model of any kind, changed in one place with its hashes made right: refused, or sound.

What is built of it is asked for predictions, explanations and updates. See `changed_states`, which
runs as many cases as one likes, and under ``NUMBA_BOUNDSCHECK=1`` notices every access beyond an
array.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .changed_states import NAMES

ROOT = Path(__file__).parents[2]
NETWORKS = ("deep-miml", "encoder-features", "otseq2set", "prime")
OTHERS = tuple(name for name in NAMES if name not in NETWORKS)
CASES = {OTHERS: 40, NETWORKS: 12}  # of each kind


@pytest.mark.parametrize("names", [OTHERS, NETWORKS], ids=["others", "networks"])
def test_a_changed_model_is_refused_or_answers(names):
    if names is NETWORKS:
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
    command = [sys.executable, "-m", "tests.reliability.changed_states", *names]
    child = subprocess.run(
        [*command, "--cases", str(CASES[names])],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    lines = child.stdout.splitlines() or [""]
    assert child.returncode == 0, f"ended at {lines[-1]}\n{child.stderr[-2000:]}"
    found = json.loads(lines[-1])
    assert found["problems"] == []
    assert sum(found["counts"].values()) == len(names) * CASES[names]
    assert found["counts"]["refused: StoreError"] > found["counts"]["answered"] > 0
