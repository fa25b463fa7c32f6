"""Models of libpecos and omikuji, imported, and metrics of napkinXC: the same answers."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from campaigns.differential.problems import Rng, drawn_problem, hold
from campaigns.framework import SilentChange, Skipped

# Problems are made and files are written as the tests of interchange do it.
from tests.interchange.comparing import assert_same, expected_of
from tests.interchange.libraries import (
    OMIKUJI_SCRIPT,
    PECOS_SCRIPT,
    PEERS,
    run,
    save_lines,
    save_matrices,
)

NAPKINXC = """
import json, sys
from napkinxc import metrics as m
t, p, k = json.load(sys.stdin)
print(json.dumps({"P": m.precision_at_k(t, p, k=k).tolist(), "R": m.recall_at_k(t, p, k=k).tolist(),
                  "nDCG": m.ndcg_at_k(t, p, k=k).tolist()}))
"""


def _imported(library: str, rng: Rng, script: str, cases: dict[str, Any]) -> None:
    """Train there, import here, and compare what both predict."""
    from multitudes.interchange import import_model

    problem = drawn_problem(rng, n_labels=int(rng.integers(8, 60)))
    Y = problem.Y.toarray()
    Y[Y.sum(axis=1) == 0, 0] = 1  # libpecos wants a label for each instance, omikuji a feature
    kept = np.diff(problem.X.indptr) > 0
    X, Y = problem.X[kept], sp.csr_array(Y[kept])
    if not X.shape[0]:
        raise Skipped(f"{library} does not train on nothing")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        save_matrices(folder, X, Y, problem.asked)
        save_lines(folder / "train.txt", X, Y)
        run(library, script, folder, cases)
        for name in cases:
            expected = expected_of(folder / name)
            listed = int(np.diff(expected.indptr).max(initial=0))
            labels = [f"label {i}" for i in range(Y.shape[1])]
            tagger = import_model(folder / name / "model", labels=labels)
            try:
                if listed:
                    assert_same(tagger.predict_ids(problem.asked, top_k=listed), expected)
            except AssertionError as error:
                raise SilentChange(f"{library} {name}: {error}") from error


def pecos(rng: Rng) -> None:
    score = str(rng.choice(["l1-hinge", "l3-hinge", "sigmoid", "log-sigmoid"]))
    case = {
        "splits": int(rng.integers(2, 9)), "leaf": int(rng.integers(2, 12)),
        "predict": {"post_processor": score, "beam_size": int(rng.integers(1, 12))},
    }  # fmt: skip
    _imported("pecos", rng, PECOS_SCRIPT, {"drawn": case})


def omikuji(rng: Rng) -> None:
    case = {
        "min_branch_size": int(rng.integers(2, 12)), "n_trees": int(rng.integers(1, 4)),
        "linear_loss_type": int(rng.integers(2)), "cluster_balanced": bool(rng.integers(2)),
        "cluster_k": int(rng.integers(2, 5)),
    }  # fmt: skip
    _imported("omikuji", rng, OMIKUJI_SCRIPT, {"drawn": case})


def napkinxc(rng: Rng) -> None:
    from multitudes.metrics import evaluate
    from multitudes.types import Predictions

    n, n_labels, k = int(rng.integers(2, 60)), int(rng.integers(6, 40)), 5
    truth = rng.random((n, n_labels)) < rng.choice([0.05, 0.3])
    truth[0, -1] = True
    scores = np.round(rng.random((n, n_labels)), 1) * (rng.random((n, n_labels)) < 0.4)
    ranked = Predictions.from_csr(sp.csr_array(scores.astype(np.float32)), 8)
    sent = [
        [np.flatnonzero(row).tolist() for row in truth],
        [[label for label in row if label >= 0] for row in ranked.labels.tolist()],
        k,
    ]
    command = [str(PEERS / "napkinxc" / "bin" / "python"), "-c", NAPKINXC]
    done = subprocess.run(
        command, input=json.dumps(sent), capture_output=True, text=True, check=True
    )
    report = evaluate(ranked, sp.csr_array(truth.astype(np.float32)), ks=range(1, k + 1))
    for name, values in json.loads(done.stdout).items():
        found = [report[f"{name}@{rank}"] for rank in range(1, k + 1)]
        hold(found, values, f"{name} of napkinXC", atol=1e-6)


TARGETS = {"pecos": pecos, "omikuji": omikuji, "napkinxc": napkinxc}


def unavailable() -> dict[str, str]:
    """Return the targets that cannot run here, and why."""
    return {
        name: f"{name} is not installed: run  make peers"
        for name in TARGETS
        if not (PEERS / name / "bin" / "python").exists()
    }
