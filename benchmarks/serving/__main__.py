"""How many requests a second the server answers, beside Annif's, and how it bears load.

    python -m benchmarks.serving                        # one text, 64 connections, beside Annif
    python -m benchmarks.serving --soak 1800            # saturated for half an hour, then SIGTERM
    python -m benchmarks.serving --slow-clients 500     # others send a byte a second

XR-Linear on each data set, trained once and kept in .cache/serving; Annif 1.4 with omikuji on the
same data, served by gunicorn, in an environment of its own (see `benchmarks.annif_project`). Load
comes from wrk (``apt-get install wrk``) on the same machine, so that its work counts, too.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.annif_project import AnnifProject
from benchmarks.machine import ROOT
from benchmarks.report import at_least_one, finish, show
from benchmarks.serving.fates import end_under_load
from benchmarks.serving.models import Problem
from benchmarks.serving.processes import serving, wait_for
from benchmarks.serving.slow import slow_clients
from benchmarks.serving.wrk import Load

FORM = "application/x-www-form-urlencoded"
WARM = 2  # seconds before a measurement


def main() -> None:
    given = arguments()
    problems = [Problem.of(given.folder / name) for name in given.data]
    if given.soak:
        name, results = "serving-soak", {one.name: soaked(one, given) for one in problems}
    elif given.slow_clients:
        name, results = "serving-slow-clients", {one.name: slowed(one, given) for one in problems}
    else:
        name, results = "serving", {one.name: compared(one, given) for one in problems}
    finish(name, results, store=not given.no_store)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--data", nargs="+", default=["eurlex-titles", "llms4subjects-gnd"])
    parser.add_argument("--seconds", type=at_least_one, default=15, help="of a measurement")
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--connections", type=at_least_one, default=64)
    parser.add_argument("--workers", type=at_least_one, default=1, help="for the last two modes")
    parser.add_argument("--no-annif", action="store_true")
    parser.add_argument("--soak", type=at_least_one, metavar="SECONDS")
    parser.add_argument("--slow-clients", type=at_least_one, metavar="N")
    parser.add_argument("--no-store", action="store_true")
    return parser.parse_args()


def compared(problem: Problem, given: argparse.Namespace) -> dict[str, Any]:
    """Requests a second of each server, one after the other, in rounds."""
    found: dict[str, list[dict[str, Any]]] = {}
    for _ in range(given.rounds):
        for workers in (1, 2):
            with serving(problem.model, "--workers", str(workers)) as running:
                load = Load(problem.bodies, connections=given.connections)
                load.run(f"{running.url}/v1/predict", WARM)
                cpu = running.cpu_seconds()
                one = load.run(f"{running.url}/v1/predict", given.seconds)
                one["cpu_ms"] = 1e3 * (running.cpu_seconds() - cpu) / one["requests"]
                one["megabytes"] = running.megabytes()
                found.setdefault(f"multitudes, {workers} worker(s)", []).append(one)
        if not given.no_annif:
            found.setdefault("Annif, 2 workers", []).append(annifs(problem, given))
    table = {server: middle(rounds) for server, rounds in found.items()}
    rows = [
        [server, f"{one['per_second']:,.0f}", f"{one['p50_ms']:.1f}", f"{one['p99_ms']:.1f}",
         str(one["errors"])]
        for server, one in table.items()
    ]  # fmt: skip
    title = f"{problem.name}, one text, {given.connections} connections, {given.rounds} rounds"
    show(title, ["", "requests/s", "p50 ms", "p99 ms", "errors"], rows)
    return {"median": table, "rounds": found}


def annifs(problem: Problem, given: argparse.Namespace) -> dict[str, Any]:
    """Requests a second of Annif."""
    project = AnnifProject.made(given.folder / problem.name)
    port = 5099
    with project.serving(port=port, workers=2) as url:
        wait_for(f"http://127.0.0.1:{port}/v1/projects")
        load = Load(problem.forms, FORM, given.connections)
        load.run(url, 2 * WARM)  # each worker reads its model at the first request
        return load.run(url, given.seconds)


def soaked(problem: Problem, given: argparse.Namespace) -> dict[str, Any]:
    """Saturation for a long time, the memory meanwhile, and the end under load."""
    with serving(problem.model, "--workers", str(given.workers)) as running:
        load = Load(problem.bodies, connections=given.connections)
        load.run(f"{running.url}/v1/predict", WARM)
        found: dict[str, Any] = {}
        asking = threading.Thread(
            target=lambda: found.update(load.run(f"{running.url}/v1/predict", given.soak))
        )
        begun = time.monotonic()
        asking.start()
        samples = []
        every = max(1.0, given.soak / 1000)
        while asking.is_alive():
            samples.append((time.monotonic() - begun, running.megabytes()))
            asking.join(every)
        found["memory"] = slope(samples)
        found["end"] = end_under_load(running, problem.bodies, given.connections)
    memory, end = found["memory"], found["end"]
    show(
        f"{problem.name}, {given.soak} s at saturation, then SIGTERM",
        ["", ""],
        [
            ["requests a second", f"{found['per_second']:,.0f}"],
            ["p99 ms", f"{found['p99_ms']:.1f}"],
            ["errors", str(found["errors"])],
            ["MB at first, at last", f"{memory['first']:.0f}, {memory['last']:.0f}"],
            ["MB an hour, second half", f"{memory['per_hour']:+.1f}"],
            ["answered after SIGTERM", str(end["answered_after_the_signal"])],
            ["lost", str(end["lost"])],
            ["exit code", str(end["exit_code"])],
        ],
    )
    return found


def slope(samples: list[tuple[float, float]]) -> dict[str, Any]:
    """How memory goes: a line through the second half, when all that is kept is there."""
    half = samples[len(samples) // 2 :]
    per_second = 0.0
    if len(half) > 2:
        seconds, megabytes = np.array(half).T
        per_second = float(np.polyfit(seconds, megabytes, 1)[0])
    return {
        "first": samples[0][1],
        "last": samples[-1][1],
        "largest": max(megabytes for _, megabytes in samples),
        "per_hour": 3600 * per_second,
        "samples": [[round(at, 1), round(mb, 2)] for at, mb in samples[:: len(samples) // 100 + 1]],
    }


def slowed(problem: Problem, given: argparse.Namespace) -> dict[str, Any]:
    """Requests a second without and with clients that send a byte a second, in turns."""
    load = Load(problem.bodies, connections=given.connections)
    rounds: dict[str, list[dict[str, Any]]] = {"alone": [], "beside slow ones": []}
    with serving(problem.model, "--workers", str(given.workers)) as running:
        url = f"{running.url}/v1/predict"
        load.run(url, WARM)
        for _ in range(given.rounds):
            rounds["alone"].append(load.run(url, given.seconds))
            with slow_clients(running.port, given.slow_clients):
                rounds["beside slow ones"].append(load.run(url, given.seconds))
            time.sleep(1)
    table = {how: middle(found) for how, found in rounds.items()}
    alone, beside = (one["per_second"] for one in table.values())
    show(
        f"{problem.name}, {given.slow_clients} clients that send a byte a second",
        ["", "requests/s", "p99 ms", "errors"],
        [[how, f"{one['per_second']:,.0f}", f"{one['p99_ms']:.1f}", str(one["errors"])]
         for how, one in table.items()],
    )  # fmt: skip
    print(f"slower by {100 * (1 - beside / alone):.1f} %")
    return {"slow_clients": given.slow_clients, "slower": 1 - beside / alone, "median": table,
            "rounds": rounds}  # fmt: skip


def middle(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each number over rounds; errors are added up."""
    found: dict[str, Any] = {
        name: statistics.median(one[name] for one in rounds) for name in rounds[0]
    }
    return found | {"errors": sum(one["errors"] for one in rounds)}


if __name__ == "__main__":
    main()
