"""What every contestant's process does alike: take an order, load, time, weigh, answer."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

Order = dict[str, Any]
Result = TypeVar("Result")

BEAM_WIDTH = 10
TOP_K = 5
WARM_UP_ROWS = 300


def serve(**tasks: Callable[[Order], dict[str, Any]]) -> None:
    """Do the task that the order on stdin names; the answer goes to the file it names.

    Not to stdout: libraries print there.
    """
    order = json.load(sys.stdin)
    answer = tasks[order["task"]](order)
    Path(order["answer"]).write_text(json.dumps(answer))


def load(folder: str, *names: str) -> list[sp.csr_matrix]:
    """Matrices as `benchmarks.trees.data.export` wrote them: float32 CSR with sorted indices."""
    return [sp.csr_matrix(sp.load_npz(f"{folder}/{name}.npz")) for name in names]


def small_problem(X: sp.csr_matrix, Y: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """A few instances and the labels they have, for warming up with the types of the real thing."""
    few = Y[:WARM_UP_ROWS]
    present = np.unique(few.indices)
    return X[:WARM_UP_ROWS], sp.csr_matrix(few[:, present])


def measured(work: Callable[[], Result]) -> tuple[Result, dict[str, float]]:
    """The result of some work, and its seconds, CPU seconds of all threads, and memory."""
    before = resident_mb()
    with watched_mb() as own:
        start, cpu_start = time.perf_counter(), time.process_time()
        result = work()
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    cost = {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "start_mb": before,
        "peak_mb": peak_mb(),
        "own_peak_mb": max(own),
    }
    return result, cost


@contextmanager
def watched_mb() -> Iterator[list[float]]:
    """Look ten times a second at the memory of this process without the files that it maps."""
    seen, over = [own_mb()], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            seen.append(own_mb())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()
        seen.append(own_mb())


def time_prediction(
    order: Order, batch: Callable[[sp.csr_matrix], Any], single: Callable[[sp.csr_matrix], Any]
) -> dict[str, Any]:
    """Seconds of a batch, and the median and 99th percentile of single instances.

    Single instances are cut out anew and beforehand, as a server would meet them.
    """
    (X,) = load(order["folder"], "X_test")
    batch(X)
    repeats = [measured(lambda: batch(X))[1] for _ in range(order["repeats"])]
    rows = [X[i : i + 1] for i in range(min(order["n_online"], X.shape[0]))]
    for row in rows[:20]:
        single(row)
    rows = [row.copy() for row in rows]
    seconds = []
    for row in rows:
        start = time.perf_counter()
        single(row)
        seconds.append(time.perf_counter() - start)
    return {
        "n_batch": X.shape[0],
        "batch_s": float(np.median([cost["seconds"] for cost in repeats])),
        "batch_cpu_s": float(np.median([cost["cpu_seconds"] for cost in repeats])),
        "n_online": len(rows),
        "online_p50_s": float(np.median(seconds)),
        "online_p99_s": float(np.quantile(seconds, 0.99)),
    }


def save_labels(path: str, rows: Sequence[Sequence[int]]) -> None:
    """Predicted labels, best first, as an int32 array (n, TOP_K); -1 where there are fewer."""
    labels = np.full((len(rows), TOP_K), -1, np.int32)
    for out, row in zip(labels, rows, strict=True):
        out[: len(row)] = row[:TOP_K]
    np.save(path, labels)


def matrix_mb(*matrices: sp.csr_matrix) -> float:
    """Memory of the arrays of CSR matrices."""
    return sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in matrices) / 2**20


def folder_bytes(path: str) -> int:
    """Size of all files of a folder."""
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def resident_mb() -> float:
    """Memory of this process now."""
    return _status_mb("VmRSS")


def own_mb() -> float:
    """Memory of this process now, without files that it only maps; all of it where unknown."""
    return _status_mb("RssAnon")


def peak_mb() -> float:
    """The most memory this process ever held.

    Not ru_maxrss where that can be avoided: Linux starts it at the peak of the parent.
    """
    return _status_mb("VmHWM")


def _status_mb(field: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        import resource

        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines[field].split()[0]) / 1024
