"""Which ASGI server, which event loop, and which JSON: all with the real application.

    python -m benchmarks.serving.asgi_servers

Needs uvicorn, granian and hypercorn beside what ``multitudes[serve]`` brings, and wrk. Only
``multitudes serve`` holds the limits on connections; the others show what those cost, or save.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import timeit
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from benchmarks.machine import ROOT
from benchmarks.report import Rounds, at_least_one, finish, rows_of, show, together
from benchmarks.serving.models import Problem
from benchmarks.serving.processes import serving, wait_for
from benchmarks.serving.wrk import Load
from multitudes.server import Limits
from multitudes.server.messages import PredictRequest
from multitudes.server.reading import parsed

APP = "benchmarks.serving.app:app"
WARM = 2  # seconds before a measurement
LIVE = "/v1/predict"


def uvicorn(http: str, loop: str) -> Callable[[int], list[str]]:
    return lambda port: [
        "uvicorn", APP, "--port", str(port), "--http", http, "--loop", loop, "--no-access-log",
        "--log-level", "warning",
    ]  # fmt: skip


COMMANDS: dict[str, Callable[[int], list[str]]] = {
    "uvicorn, h11, asyncio": uvicorn("h11", "asyncio"),
    "uvicorn, httptools, uvloop": uvicorn("httptools", "uvloop"),
    "granian": lambda port: [
        "granian", APP, "--interface", "asgi", "--port", str(port), "--log-level", "warning",
    ],
    "hypercorn, uvloop": lambda port: [
        "hypercorn", APP, "-b", f"127.0.0.1:{port}", "-k", "uvloop", "--log-level", "warning",
    ],
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/eurlex-titles")
    parser.add_argument("--seconds", type=at_least_one, default=10)
    parser.add_argument("--rounds", type=at_least_one, default=3)
    parser.add_argument("--no-store", action="store_true")
    given = parser.parse_args()
    problem = Problem.of(given.data)
    rounds: dict[str, list[dict[str, Any]]] = {}
    for _ in range(given.rounds):
        with serving(problem.model) as running:
            rounds.setdefault("multitudes serve", []).append(
                measured(f"{running.url}{LIVE}", problem, given.seconds)
            )
        for name, command in COMMANDS.items():
            if find_spec(name.partition(",")[0]) is not None:
                rounds.setdefault(name, []).append(alone(command, problem, given.seconds))
    found = {
        name: {key: statistics.median(one[key] for one in runs) for key in runs[0]}
        for name, runs in rounds.items()
    }
    rows = [[name, f"{one['per_second']:,.0f}", f"{one['p99_ms']:.1f}", f"{one['errors']:.0f}"]
            for name, one in found.items()]  # fmt: skip
    show("one text, 64 connections", ["", "requests/s", "p99 ms", "errors"], rows)
    readers = reading(problem.bodies.read_bytes().splitlines()[0])
    show("a request to what it asks", ["", "µs"], [[k, f"{v:.2f}"] for k, v in readers.items()])
    sections = {name: together(runs, Rounds) for name, runs in rounds.items()}
    rows = rows_of({**sections, "reading_us": readers})
    finish("serving-asgi", rows, data=[given.data], store=not given.no_store)


def measured(url: str, problem: Problem, seconds: int) -> dict[str, Any]:
    load = Load(problem.bodies)
    load.run(url, WARM)
    return load.run(url, seconds)


def alone(command: Callable[[int], list[str]], problem: Problem, seconds: int) -> dict[str, Any]:
    """Measure the application under another server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "MODEL": str(problem.model), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", *command(port)], cwd=ROOT, env=environment)
    try:
        wait_for(f"http://127.0.0.1:{port}/health")
        return measured(f"http://127.0.0.1:{port}{LIVE}", problem, seconds)
    finally:
        process.terminate()
        process.wait(30)


def reading(body: bytes) -> dict[str, float]:
    """Microseconds to read a request, by library; ours measures it first, and checks it."""
    limits = Limits()
    ways: dict[str, Callable[[], Any]] = {
        "json": lambda: json.loads(body),
        "orjson": lambda: orjson.loads(body),
        "orjson, pydantic": lambda: PredictRequest.model_validate(orjson.loads(body)),
        "pydantic": lambda: PredictRequest.model_validate_json(body),
        "ours: shape, orjson, pydantic": lambda: parsed(body, PredictRequest, limits),
    }
    if find_spec("msgspec") is not None:
        ways["msgspec, typed"] = _msgspec(body)
    n = 2000
    return {
        name: 1e6 * min(timeit.repeat(way, number=n, repeat=5)) / n for name, way in ways.items()
    }


def _msgspec(body: bytes) -> Callable[[], Any]:
    import msgspec

    fields: list[Any] = [
        ("texts", list[str]),
        ("model", str | None, None),
        ("kind", str, "scores"),
        ("top_k", int | None, None),
        ("threshold", float | None, None),
    ]
    kind = msgspec.defstruct("Asked", fields, forbid_unknown_fields=True)
    decoder = msgspec.json.Decoder(kind)
    return lambda: decoder.decode(body)


if __name__ == "__main__":
    main()
