"""What abuse costs a served model: seconds and memory, and how /health is answered meanwhile.

    python -m benchmarks.server_abuse

Serves a small model from a process of its own. /health is asked for by another process, over a new
connection each time, while requests of a million numbers in place of texts, 80 requests of 1,000
texts at once, and half-open connections come in; the last also with 128 open files allowed. Then it
is told to stop while a client holds back the rest of its request. ``idle_max_ms`` is the slowest
/health of a second server, which had nothing else to do: what the machine itself costs meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from benchmarks.report import finish, rows_of, show
from multitudes import Tagger
from multitudes.data import make_catalogue

JSON = {"content-type": "application/json"}
HALF_HEADERS = b"POST /v1/predict HTTP/1.1\r\nhost: loc"
HALF_BODY = (
    b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b'content-length: 1000\r\n\r\n{"texts":'
)
TEXT = "oak writing desk with three drawers and a silver spoon of leather " * 3
PROBE = """
import http.client, json, sys, threading, time
times, stop = [], []
threading.Thread(target=lambda: (sys.stdin.read(), stop.append(1)), daemon=True).start()
while not stop:
    begun = time.perf_counter()
    one = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    one.request("GET", "/health"); assert one.getresponse().read(); one.close()
    times.append(time.perf_counter() - begun); time.sleep(0.01)
print(json.dumps(times))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--no-store", action="store_true")
    given = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        shop = make_catalogue(5000, n_labels=300, random_state=1).dataset
        Tagger("xr-linear").fit(shop).save(folder)
        with served(folder) as (process, port):
            for megabytes in (1, 10, 100):
                results[f"{megabytes} MB of numbers"] = numbers(process, port, megabytes)
            with served(folder) as (_, idle):
                results["80 requests of 1,000 texts"] = many(process, port, idle)
            results["100 half-open connections"] = half_open(process, port, 100)
            results["stopped with a half-sent request"] = stopped(process, port)
        with served(folder, files=128) as (process, port):
            results["141 half-open, 128 files"] = half_open(process, port, 141)
    columns = [
        "seconds", "memory_mb", "health_p50_ms", "health_max_ms", "idle_max_ms", "outcome"
    ]  # fmt: skip
    rows = [[name, *(str(one.get(column, "")) for column in columns)]
            for name, one in results.items()]  # fmt: skip
    show("abuse of a served model", ["", *columns], rows)
    finish("server_abuse", rows_of(results), store=not given.no_store)


@contextmanager
def served(folder: str, *, files: int | None = None) -> Iterator[tuple[Any, int]]:
    """A server in a process of its own, perhaps with few open files."""
    command = [sys.executable, "-m", "multitudes", "serve", folder, "--port", "0"]

    def limited() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited,
    ) as process:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"http://[\d.]+:(\d+)", x) for x in process.stderr)))
        threading.Thread(target=process.stderr.read, daemon=True).start()  # the log
        try:
            ask(int(found[1]), json.dumps({"texts": [TEXT] * 10}).encode())
            yield process, int(found[1])
        finally:
            process.kill()


@contextmanager
def measured(process: Any, port: int) -> Iterator[dict[str, Any]]:
    """Seconds, memory that the server gained at its peak, and how /health was answered."""
    found: dict[str, Any] = {}
    probe = probing(port)
    time.sleep(0.5)
    memory, peak, over = psutil.Process(process.pid), [0], threading.Event()
    before = memory.memory_info().rss

    def watch() -> None:
        while not over.wait(0.005):
            peak[0] = max(peak[0], memory.memory_info().rss)

    watching = threading.Thread(target=watch)
    watching.start()
    begun = time.perf_counter()
    yield found
    found.setdefault("seconds", round(time.perf_counter() - begun, 3))
    over.set()
    watching.join()
    found["memory_mb"] = round((peak[0] - before) / 1e6, 1)
    times = milliseconds(probe)
    found["health_p50_ms"] = times[len(times) // 2]
    found["health_max_ms"] = times[-1]


def probing(port: int) -> subprocess.Popen[str]:
    """A process that asks a server for its health, again and again."""
    command = [sys.executable, "-c", PROBE, str(port)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def milliseconds(probe: subprocess.Popen[str]) -> list[float]:
    """End it, and return how long its answers took, in order."""
    return sorted(round(1e3 * seconds, 1) for seconds in json.loads(probe.communicate()[0]))


def ask(port: int, body: bytes) -> int:
    """The code of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/v1/predict", body, JSON)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def numbers(process: Any, port: int, megabytes: int) -> dict[str, Any]:
    """One request of numbers in place of texts."""
    body = b'{"texts":[' + b"1," * (megabytes * 500_000) + b"1]}"
    with measured(process, port) as found:
        found["outcome"] = ask(port, body)
    return found


def many(process: Any, port: int, idle: int) -> dict[str, Any]:
    """Many legal requests at once."""
    body = json.dumps({"texts": [TEXT] * 1000}).encode()
    codes: Counter[int] = Counter()
    asking = [threading.Thread(target=lambda: codes.update([ask(port, body)])) for _ in range(80)]
    beside = probing(idle)
    with measured(process, port) as found:
        for one in asking:
            one.start()
        for one in asking:
            one.join()
        found["outcome"] = dict(codes)
    found["idle_max_ms"] = milliseconds(beside)[-1]
    return found


def half_open(process: Any, port: int, n: int) -> dict[str, Any]:
    """Connections whose clients do not go on: seconds until the server has closed them all."""
    with measured(process, port) as found:
        clients = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(n)]
        for client in clients:
            client.sendall(HALF_HEADERS)
        for client in clients:
            with client, suppress(ConnectionError):
                while client.recv(4096):
                    pass
        found["outcome"] = "all closed"
    return found


def stopped(process: Any, port: int) -> dict[str, Any]:
    """Seconds from SIGTERM to the end while a client holds back the rest of its request."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(HALF_BODY)
        time.sleep(0.2)
        begun = time.perf_counter()
        process.terminate()
        code = process.wait(60)
    return {"seconds": round(time.perf_counter() - begun, 2), "outcome": f"exit code {code}"}


if __name__ == "__main__":
    main()
