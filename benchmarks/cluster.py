"""What does a Ray cluster cost? ``python -m benchmarks.cluster``.

One machine cannot show how much faster several are, but it can show what is lost on the way: the
same trees are trained by this process with two threads, and by two Ray machines of one core each,
played by processes of this machine, in turns. ``overhead`` is the ratio of the medians, tree
building included, which runs in this process either way. What Ray needs to start is listed apart.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from contextlib import nullcontext
from typing import Any

import numpy as np

from benchmarks.report import finish, show
from benchmarks.trees.long_tailed import long_tailed
from multitudes.engine import ray_cluster
from multitudes.engine.cluster import in_use
from multitudes.linear import XRLinear

WAYS = ("threads", "ray")
STORE_BYTES = 3 << 30  # of a machine's shared memory; by itself Ray takes 30 % of the whole


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--machines", type=int, default=2, help="of one core each")
    parser.add_argument("--store", action="store_true", help="keep as benchmarks/results")
    given = parser.parse_args()
    start = time.perf_counter()
    address, stop = start_machines(given.machines)
    started = time.perf_counter() - start
    try:
        with ray_cluster(address):
            found = {n: measure(n, given.rounds, given.machines) for n in given.labels}
    finally:
        stop()
    rows = [
        [f"{n:,}", *(f"{one[way]:.2f}" for way in WAYS), f"{one['overhead']:.2f}",
         f"{one['first_ray']:.2f}", f"{one['data_mb']:.0f}"]
        for n, one in found.items()
    ]  # fmt: skip
    columns = ["labels", "threads, s", "Ray, s", "overhead", "first time on Ray, s", "data, MB"]
    show(f"XRLinear, {given.machines} cores; Ray started in {started:.1f} s", columns, rows)
    results = {"start_s": started, "machines": given.machines, "sizes": found}
    results["overhead"] = max(one["overhead"] for one in found.values())
    finish("cluster", results, store=given.store)


def start_machines(n: int) -> tuple[str, Any]:
    """Ray machines of one core each on this one: their address, and a call that ends them."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    machine = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args={**machine, "include_dashboard": False})
    for _ in range(n - 1):
        cluster.add_node(**machine)
    return cluster.address, cluster.shutdown


def measure(n_labels: int, rounds: int, n_jobs: int) -> dict[str, float]:
    """Median seconds of ``fit`` each way; a first fit of each loads code and is not counted."""
    X, Y, *_ = long_tailed(n_labels)
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    models: dict[str, XRLinear] = {}
    for _ in range(rounds + 1):
        for way in WAYS:
            start = time.perf_counter()
            models[way] = fitted(X, Y, way, n_jobs)
            seconds[way].append(time.perf_counter() - start)
    for one, other in zip(*(model.levels_ for model in models.values()), strict=True):
        for mine, yours in zip(
            one.to_state().arrays.values(), other.to_state().arrays.values(), strict=True
        ):
            np.testing.assert_array_equal(mine, yours)
    middle = {way: statistics.median(all_rounds[1:]) for way, all_rounds in seconds.items()}
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + Y.indices.nbytes
    return {
        **middle,
        "overhead": middle["ray"] / middle["threads"],
        "first_ray": seconds["ray"][0],
        "data_mb": held / 2**20,
    }


def fitted(X: Any, Y: Any, way: str, n_jobs: int) -> XRLinear:
    """A model trained by threads, whatever cluster there is, or by the cluster."""
    with nullcontext() if way == "ray" else in_use(None):
        return XRLinear(n_jobs=n_jobs).fit(X, Y)


if __name__ == "__main__":
    main()
