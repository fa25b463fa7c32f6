"""Trials: one task of one contestant, each in a fresh process.

Where `timing.alternate` keeps processes alive between rounds, a trial gives every run the same
start and a peak memory of its own. Modules of `benchmarks.trees.contestants` do the work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.peers import PeerError, python_of

OURS = "ours"
_THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def trial(
    who: str,
    task: str,
    order: Mapping[str, Any],
    *,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Have a contestant do a task in a process of its own; its answer comes back.

    Parameters
    ----------
    who : str
        A module of `benchmarks.trees.contestants`: "ours" or a peer.
    task : str
        One of the tasks it serves.
    order : mapping
        What the task is given; `n_jobs` also limits the libraries' thread pools.
    environment : mapping, optional
        More environment variables.
    """
    python = Path(sys.executable) if who == OURS else python_of(who)
    limits = dict.fromkeys(_THREAD_LIMITS, str(order["n_jobs"]))
    variables = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", **limits, **(environment or {})}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        done = subprocess.run(
            [str(python), "-m", f"benchmarks.trees.contestants.{who}"],
            input=json.dumps({**order, "task": task, "answer": str(answer)}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env=variables,
            check=False,
        )
        if done.returncode or not answer.exists():
            raise PeerError(f"{who} failed to {task}:\n{done.stdout[-2000:]}")
        result: dict[str, Any] = json.loads(answer.read_text())
    return result
