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
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.annif_project import AnnifProject
from benchmarks.machine import ROOT
from benchmarks.report import Rounds, at_least_one, finish, rows_of, show_rows, together
from benchmarks.serving.fates import end_under_load
from benchmarks.serving.models import Problem
from benchmarks.serving.processes import serving, wait_for
from benchmarks.serving.slow import slow_clients
from benchmarks.serving.wrk import Load

FORM = "application/x-www-form-urlencoded"
WARM = 2  # seconds before a measurement
SHOWN = (
    "per_second",
    "p50_ms",
    "p99_ms",
    "errors",
    "megabytes",
    "first",
    "last",
    "per_hour",
    "lost",
)


def main() -> None:
    given = arguments()
    problems = [Problem.of(given.folder / name) for name in given.data]
    raw = None
    if given.soak:
        name, results = "serving-soak", {one.name: soaked(one, given) for one in problems}
        raw = {one: found["memory"].pop("samples") for one, found in results.items()}
    elif given.slow_clients:
        name, results = "serving-slow-clients", {one.name: slowed(one, given) for one in problems}
    else:
        name, results = "serving", {one.name: compared(one, given) for one in problems}
    rows = rows_of(results)
    show_rows(f"{given.connections} connections", rows, SHOWN)
    settings = {
        key: getattr(given, key)
        for key in ("connections", "seconds", "rounds", "workers", "soak", "slow_clients")
    }
    data = [given.folder / one.name for one in problems]
    finish(name, rows, data=data, settings=settings, raw=raw, store=not given.no_store)


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
    return {server: together(rounds, Rounds) for server, rounds in found.items()}


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
    return {how: together(found, Rounds) for how, found in rounds.items()}


if __name__ == "__main__":
    main()
