"""Rehearsals compile what real work needs, in a process that may be killed, or cannot write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from multitudes.kernels import ahead
from multitudes.linear.rehearsal import LAST_KERNELS, REHEARSALS

WORK = """
import numpy as np, scipy.sparse as sp
from numba.core import event
from multitudes import XRLinear
from multitudes.kernels import ahead
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
X = sp.random(600, 80, 0.1, format="csr", dtype=np.float32, random_state=0)
Y = sp.random(600, 256, 0.02, format="csr", dtype=np.float32, random_state=1)
Y.data[:] = 1
model = XRLinear(branching=4, max_leaf_size=16).fit(X, Y)
{between}
event.register("numba:compile", Listener())
labels = model.predict(X, top_k=3).labels
print(int(labels.sum()), "search_block" in compiled, len(compiled))
"""


def work(cache: Path, between: str = "", **settings: str) -> list[str]:
    """What a tree finds in a fresh process, and whether it compiled the search itself."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **settings}
    done = subprocess.run(
        [sys.executable, "-c", WORK.format(between=between)],
        env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout.split()


def test_each_stage_has_a_rehearsal_and_a_kernel() -> None:
    assert REHEARSALS.keys() == LAST_KERNELS.keys()
    for stage, rehearse in REHEARSALS.items():
        rehearse()
        assert LAST_KERNELS[stage].nopython_signatures, stage


@pytest.mark.slow
def test_the_search_is_compiled_ahead(tmp_path: Path) -> None:
    if ahead.available_cores() < 2:
        pytest.skip("one core has no time for a helper")
    total, compiled_here, _ = work(tmp_path / "helped", **{ahead.VARIABLE: "on"})
    assert compiled_here == "False"
    # The helper is killed at once: the same labels, compiled here.
    kill = "ahead._helper.process.kill(); ahead._helper.process.wait()"
    settings = {ahead.VARIABLE: "on"}
    assert work(tmp_path / "killed", kill, **settings)[0] == total


def test_a_cache_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert work(tmp_path / "file" / "cache", **{ahead.VARIABLE: "on"})
