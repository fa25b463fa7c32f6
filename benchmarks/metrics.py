"""How fast is evaluation? ``python -m benchmarks.metrics``.

Three questions: metrics at k against napkinXC, metrics of label sets against scikit-learn (the same
numbers, checked), and ours alone on a million instances with 100 predictions each.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.machine import usable_cores
from benchmarks.peers import python_of, version_of
from benchmarks.report import finish, rows_of, show_rows
from benchmarks.timing import Contestant, Timing, alternate

N_LABELS = 2**19  # a power of two: odd steps then visit distinct labels
TOP_K = 100

LOAD = """
import numpy as np
data = np.load(path)
labels, indptr, indices, weights = (data[n] for n in ("labels", "indptr", "indices", "weights"))
n_labels = len(weights)
"""
CHECK = "\ncheck = lambda values: [round(float(v), 6) for v in values]\n"

OURS = (
    LOAD
    + """
import scipy.sparse as sp
from multitudes.metrics import evaluate
from multitudes.types import Predictions
truth = sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), (len(labels), n_labels))
predictions = Predictions(labels, np.zeros(labels.shape, np.float32), n_labels)
ranked, true = labels.tolist(), [row.tolist() for row in np.split(indices, indptr[1:-1])]
def run():
    given = (ranked, true) if lists else (predictions, truth)
    report = evaluate(*given, ks=range(1, 6), inverse_propensity=weights)
    names = ("P", "R", "nDCG", "PSP", "PSR", "PSnDCG", "coverage")
    return [report[f"{name}@{k}"] for name in names for k in range(1, 6)]
"""
    + CHECK
)
NAPKINXC = (
    LOAD
    + """
from napkinxc import metrics as m
ranked, true = labels.tolist(), [row.tolist() for row in np.split(indices, indptr[1:-1])]
def run():
    plain = (m.precision_at_k, m.recall_at_k, m.ndcg_at_k)
    scored = (m.psprecision_at_k, m.psrecall_at_k, m.psndcg_at_k)
    values = [f(true, ranked, k=5) for f in plain]
    values += [f(true, ranked, weights, k=5) for f in scored]
    return np.concatenate([*values, m.coverage_at_k(true, ranked, k=5)])
"""
    + CHECK
)
SETS = (
    LOAD
    + """
import scipy.sparse as sp
from multitudes.metrics import set_scores
from sklearn.metrics import precision_recall_fscore_support
shape = (len(labels), n_labels)
truth = sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape)
chosen = np.sort(labels[:, :5], axis=1).ravel()
ends = 5 * np.arange(shape[0] + 1)
predicted = sp.csr_matrix((np.ones(chosen.size, np.int8), chosen, ends), shape)
def one(average):
    if ours:
        return set_scores(predicted, truth, average=average, over="all")
    name = "samples" if average == "example" else average
    return precision_recall_fscore_support(truth, predicted, average=name, zero_division=0)[:3]
def run():
    return np.concatenate([one(average) for average in ("micro", "macro", "weighted", "example")])
"""
    + CHECK
)
SCALE = """
import numpy as np
from benchmarks.metrics import TOP_K, make_arrays, peak_gb
import scipy.sparse as sp
from multitudes.metrics import Resampling, compare, evaluate
from multitudes.types import Predictions
data = make_arrays(n, TOP_K, n_labels, random_state=1)
n_labels, indices = len(data["weights"]), data["indices"]
Y = sp.csr_array((np.ones(len(indices), np.float32), indices, data["indptr"]), (n, n_labels))
def predictions(labels):
    return Predictions(labels, np.zeros(labels.shape, np.float32), n_labels)
first = predictions(data.pop("labels"))
options = {"ks": ks, "inverse_propensity": data["weights"]}
if verb != "evaluate":
    options["resampling"] = Resampling()
if verb == "compare":
    second = predictions(np.ascontiguousarray(first.labels[:, ::-1]))
def run():
    if verb == "compare":
        return compare(first, second, Y, **options)
    return evaluate(first, Y, **options)
def check(result):
    return {"peak_gb": peak_gb()}
"""


def make_arrays(n: int, top_k: int, n_labels: int, *, random_state: int) -> dict[str, Any]:
    """Rankings of distinct labels and a truth that about half of the time lies among them."""
    rng = np.random.default_rng(random_state)
    start = rng.integers(0, n_labels, (n, 1), np.int32)
    step = 2 * rng.integers(0, n_labels // 2, (n, 1), np.int32) + 1
    labels = np.multiply(step, np.arange(top_k, dtype=np.int32), dtype=np.int32)  # may wrap around
    labels = (labels + start) & np.int32(n_labels - 1)
    rows = np.repeat(np.arange(n), rng.integers(0, 11, n))  # five labels on average, some none
    rank = (top_k * rng.random(len(rows)) ** 2).astype(np.int64)
    strangers = rng.integers(0, n_labels, len(rows))
    columns = np.where(rng.random(len(rows)) < 0.5, labels[rows, rank], strangers)
    truth = sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(n, n_labels))
    truth.sum_duplicates()
    weights = rng.uniform(1, 10, n_labels)
    index = {"indptr": truth.indptr, "indices": truth.indices.astype(np.int32)}
    return {"labels": labels, "weights": weights, **index}


def peak_gb() -> float:
    """The most memory this process has held."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 2)


def against_peers(n: int, rounds: int) -> dict[str, Timing]:
    """The same metrics of the same predictions, by us and by napkinXC, then by scikit-learn."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "case.npz")
        np.savez(path, **make_arrays(n, TOP_K, N_LABELS, random_state=0))
        ranked = {
            "ours, arrays": Contestant(OURS, {"path": path, "lists": False}),
            "ours, lists": Contestant(OURS, {"path": path, "lists": True}),
            "napkinXC": Contestant(NAPKINXC, {"path": path}, python_of("napkinxc")),
        }
        sets = {
            "ours, sets": Contestant(SETS, {"path": path, "ours": True}),
            "scikit-learn, sets": Contestant(SETS, {"path": path, "ours": False}),
        }
        return alternate(ranked, rounds=rounds) | alternate(sets, rounds=rounds)


def at_scale(n: int, rounds: int) -> dict[str, Timing]:
    """Ours alone, with all the cores: every metric, with intervals, and the paired test."""
    timings = {}
    for name, verb, ks in (
        ("evaluate at 1, 3, 5", "evaluate", [1, 3, 5]),
        ("evaluate at 1, 3, 5, 10, 100", "evaluate", [1, 3, 5, 10, 100]),
        ("evaluate at 1, 3, 5 with 1000 bootstrap samples", "intervals", [1, 3, 5]),
        ("compare at 1, 3, 5 with 1000 samples each", "compare", [1, 3, 5]),
    ):
        given = {"n": n, "n_labels": N_LABELS, "verb": verb, "ks": ks}
        one = Contestant(SCALE, given, n_jobs=usable_cores())
        timings |= alternate({name: one}, rounds=rounds if verb == "evaluate" else 1)
    return timings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds of each contestant")
    parser.add_argument("--peer-instances", type=int, default=20_000)
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    peers = against_peers(given.peer_instances, given.rounds)
    scale = at_scale(given.instances, given.rounds)
    memory = {name: {"peak_gb": t.check["peak_gb"]} for name, t in scale.items()}
    rows = rows_of({n: t.measures | memory.get(n, {}) for n, t in (peers | scale).items()})
    show_rows(f"top {TOP_K}, {N_LABELS} labels; against peers 1 thread", rows)
    settings = {
        "peer_instances": given.peer_instances,
        "instances": given.instances,
        "napkinxc": version_of("napkinxc"),
    }
    finish("metrics", rows, settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
