"""Training from shards of text on 1, 2 and 4 Ray machines: ``python -m benchmarks.cluster``.

The problem is that of `benchmarks.trees.long_tailed`, as lines of text in shards: 10^6 instances of
about 25 words and as many labels by default. Each machine is a Ray node of one core, played by
processes of this computer that are held to a core of it: workers, Ray's own processes and, on the
first machine, the driver. So more nodes than cores only show that it works. Measured: seconds of
the whole, from text to saved model, and of each stage; memory of the driver; bytes in the files of
each stage; bytes of rows that machines pull out of the pieces. The models must be the same, byte
for byte. What Ray needs to start is not counted, nor is the compiling of kernels: a small problem
is trained before.

``--beside`` trains twice at the same time, each on a cluster of one node with a core of its own.
They share no work and no network, only this computer: its memory, its disk, its hypervisor. What
they lose by that, two nodes played on it lose too, however their work is shared.

Each number of nodes may be measured by itself (``--nodes 2``): what was measured lies in
``--folder`` and is put together by ``--store``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show
from benchmarks.trees import long_tailed as problem
from multitudes.engine import ray_cluster
from multitudes.shards import train_shards
from multitudes.shards.run import Run
from multitudes.tagger import Tagger

STORE_BYTES = 500 << 20  # of a node's shared memory: what nodes tell each other is small
WARM_UP = 5_000  # labels


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=32)
    parser.add_argument("--nodes", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/multitudes-cluster"))
    parser.add_argument("--beside", action="store_true", help="two clusters of one node at once")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--store", action="store_true", help="keep as benchmarks/results")
    given = parser.parse_args()
    folder = given.folder / str(given.labels)
    if given.core is not None:  # one of two
        os.sched_setaffinity(0, {given.core})
        found = measure(folder, 1, name=f"beside-{given.core}")
        (folder / f"beside-{given.core}.json").write_text(json.dumps(found))
        return
    if given.one is not None:
        (folder / f"{given.one}.json").write_text(json.dumps(measure(folder, given.one)))
        return
    write_shards(folder, given.labels, given.shards)
    write_shards(given.folder / str(WARM_UP), WARM_UP, 2)
    command = [sys.executable, "-m", "benchmarks.cluster", "--folder", str(given.folder)]
    for nodes in given.nodes:
        for labels in (WARM_UP, given.labels):
            subprocess.run([*command, "--labels", str(labels), "--one", str(nodes)], check=True)
    if given.beside:
        cores = sorted(os.sched_getaffinity(0))[:2]
        both = [*command, "--labels", str(given.labels), "--core"]
        started = [subprocess.Popen([*both, str(core)]) for core in cores]
        ended = [process.wait() for process in started]
        if any(ended):
            raise SystemExit("one of two trainings side by side has failed")
    summarize(folder, given)


def summarize(folder: Path, given: Any) -> None:
    """Show all that was measured of a problem, and store it."""
    found = {
        int(path.stem): json.loads(path.read_text())
        for path in sorted(folder.glob("[0-9]*.json"), key=lambda path: int(path.stem))
    }
    first = found[min(found)]
    beside = [json.loads(path.read_text()) for path in sorted(folder.glob("beside-*.json"))]
    if len({one["model"] for one in [*found.values(), *beside]}) != 1:
        raise SystemExit("the models differ")
    rows = [
        [str(nodes), f"{one['seconds']:.1f}", f"{first['seconds'] / one['seconds']:.2f}",
         f"{one['driver_mb']:.0f}", f"{one['driver_peak_mb']:.0f}"]
        for nodes, one in found.items()
    ]  # fmt: skip
    columns = ["nodes", "seconds", "times one", "driver, MB", "with mapped files, MB"]
    show(f"{given.labels:,} labels and instances, from text", columns, rows)
    stages = [
        [name, *(f"{one['stages'][name]['wall']:.1f}" for one in found.values()),
         f"{first['stages'][name]['bytes'] / 2**20:.0f}"]
        for name in first["stages"]
    ]  # fmt: skip
    show("Seconds of each stage", ["stage", *(f"{n} nodes" for n in found), "files, MB"], stages)
    sections = {
        f"{nodes} node{'s' * (nodes > 1)}": one
        | {name: of_stage(stage) for name, stage in one["stages"].items()}
        | {"driver": driver(one), "stages": {}, "model": ""}
        for nodes, one in found.items()
    }
    if beside:
        mean = sum(one["seconds"] for one in beside) / len(beside)
        print(f"1 node beside another: {mean:.1f} s, {mean / first['seconds']:.2f} times as long")
        work = {name: {"work": sum(sum(one["stages"][name]["seconds"]) for one in beside) / 2}
                for name in first["stages"]}  # fmt: skip
        sections["1 node beside another"] = {"seconds": mean} | work
    settings = {"labels": given.labels, "shards": given.shards}
    raw = {"nodes": found, "beside": beside}
    finish("cluster", rows_of(sections), settings=settings, raw=raw, store=given.store)


def driver(one: dict[str, Any]) -> dict[str, float]:
    """What is left for it to do by itself: merging, saving."""
    return {"wall": one["seconds"] - sum(stage["wall"] for stage in one["stages"].values())}


def of_stage(stage: dict[str, Any]) -> dict[str, float]:
    """What a record has of a stage; ``work`` are the seconds of all pieces."""
    return {
        "wall": stage["wall"],
        "before": stage["before"],
        "work": sum(stage["seconds"]),
        "megabytes": stage["bytes"] / 2**20,
    }


def write_shards(folder: Path, n_labels: int, n_shards: int) -> None:
    """Write the problem as JSON lines, once."""
    if (folder / "shards").exists():
        return
    rng = np.random.default_rng(0)
    world = problem.make_world(n_labels, rng)
    popularity, main_label = rng.permutation(n_labels), rng.permutation(n_labels)
    rows, labels = problem.draw_labels(world, main_label, popularity, rng)
    Y = problem.counted(rows, labels, (n_labels, n_labels))
    words = problem.draw_words(world, main_label, rows, labels, rng)
    half = folder / "half"
    half.mkdir(parents=True)
    for shard, span in enumerate(np.array_split(np.arange(n_labels), n_shards)):
        with (half / f"part-{shard:03d}.jsonl").open("w") as file:
            for i in span.tolist():
                a, b = words.indptr[i], words.indptr[i + 1]
                counts = words.data[a:b].astype(int)
                own = np.repeat(words.indices[a:b], counts).tolist()
                names = Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist()
                text = " ".join(f"w{word}" for word in own)
                file.write(json.dumps({"text": text, "labels": [f"l{n}" for n in names]}) + "\n")
    half.rename(folder / "shards")


def start_machines(n: int) -> tuple[str, Any]:
    """Ray machines of one core each on this one: their address, and a call that ends them."""
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # else other programs of this computer go first
        "OMP_NUM_THREADS": "1",
    }
    from ray.cluster_utils import Cluster

    machine = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:1])  # the driver works on the head, as a machine's would
    cluster = Cluster(initialize_head=True, head_node_args={**machine, "include_dashboard": False})
    for i in range(1, n):
        os.sched_setaffinity(0, {cores[i % len(cores)]})  # whatever is started inherits it
        cluster.add_node(**machine)
    os.sched_setaffinity(0, cores[:1])
    return cluster.address, cluster.shutdown


def measure(folder: Path, nodes: int, name: str = "") -> dict[str, Any]:
    """Train on so many nodes, from text to saved model."""
    name = name or str(nodes)
    run, model = folder / f"run-{name}", folder / f"model-{name}"
    for old in (run, model):
        shutil.rmtree(old, ignore_errors=True)
    address, stop = start_machines(nodes)
    stages: dict[str, dict[str, Any]] = {}
    try:
        with ray_cluster(address), recorded(stages), Memory() as memory:
            start = time.perf_counter()
            train_shards(Tagger("xr-linear"), folder / "shards", model, run=run)
            seconds = time.perf_counter() - start
    finally:
        stop()
    for name, stage in stages.items():
        files = [*run.glob(f"{name}/*"), *(run.glob("levels/*") if name == "weights" else ())]
        stage["bytes"] = sum(file.stat().st_size for file in files)
    manifest = json.loads((model / "manifest.json").read_text())
    result = {
        "seconds": seconds,
        "stages": stages,
        "pulled_mb": pulled(run) / 2**20,
        "driver_mb": memory.largest / 2**10,
        "driver_peak_mb": status("VmHWM") / 2**10,
        "model": re.sub(r"data-[0-9a-f]+", "", json.dumps(manifest["files"], sort_keys=True)),
    }
    for old in (run, model):
        shutil.rmtree(old, ignore_errors=True)
    return result


class recorded:  # noqa: N801
    """Keep what each stage takes: seconds of the whole, of each piece, and what came before."""

    def __init__(self, stages: dict[str, dict[str, Any]]) -> None:
        self._stages, self._plain = stages, Run.grow
        self._ended = time.perf_counter()

    def __enter__(self) -> None:
        stages, plain = self._stages, self._plain

        def timed(
            run: Run, cluster: Any, stage: Any, shared: Any, first: Any, below: Any, **more: Any
        ) -> Any:
            above: dict[int, int] = {}

            def noted(number: int) -> Any:
                found = below(number)
                above.update((piece.number, number) for piece in found)
                return found

            start = time.perf_counter()
            computed = plain(run, cluster, stage, shared, first, noted, **more)
            end = time.perf_counter()
            places = {one.number: i for i, one in enumerate(computed)}
            stages[stage.name] = {
                "wall": end - start,
                "before": start - self._ended,
                "above": [places.get(above.get(one.number, -1)) for one in computed],
                "costs": [one.cost for one in computed],
                "seconds": [one.seconds for one in computed],
            }
            self._ended = end
            return computed

        Run.grow = timed  # type: ignore[method-assign]

    def __exit__(self, *exception: object) -> None:
        Run.grow = self._plain  # type: ignore[method-assign]


class Memory:
    """The most memory that this process has taken for itself, in KB: no mapped files."""

    def __enter__(self) -> Memory:
        self.largest, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            self.largest = max(self.largest, status("RssAnon"))

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()


def status(name: str) -> int:
    """Return a line of this process's status, in KB."""
    return int(re.search(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]


def pulled(run: Path) -> int:
    """Bytes of rows of X that machines copy out of the pieces; rows of two clusters count twice."""
    from multitudes.store.files import map_arrays

    values = 0
    for piece in sorted((run / "pieces").glob("*.safetensors")):
        arrays = map_arrays(piece)
        values += int(np.diff(arrays["indptr"])[arrays["rows"]].sum())  # for embeddings
        slots = map_arrays(run / "slots" / piece.name)
        values += sum(int(a[1].sum()) for name, a in slots.items() if name.startswith("sizes"))
    return 8 * values


if __name__ == "__main__":
    main()
