"""What HTTP adds to tagging one text, and how many requests a second are answered.

    python -m benchmarks.server_latency --data ../shared/data/eurlex-titles

Trains XR-Linear on the training split, serves it from a process of its own, and sends titles of the
test split one by one over one connection; beside it the same calls in-process. Then several
connections at once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.report import finish, rows_of, show
from multitudes import Tagger, read_dataset
from multitudes.data import ReadOptions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--no-store", action="store_true")
    given = parser.parse_args()
    train = read_dataset(given.data, options=ReadOptions(split="trn"))
    test = read_dataset(given.data, labels=train, options=ReadOptions(split="tst"))
    texts = list(test.texts[: given.requests])
    tagger = Tagger("xr-linear").fit(train)
    tagger.predict(texts[:1])
    results = {"in-process": latency(in_process(tagger, texts))}
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(folder)
        command = [sys.executable, "-m", "multitudes", "serve", folder, "--port", "0"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            found = re.search(r"http://([\d.]+):(\d+)", process.stderr.readline())
            assert found is not None
            threading.Thread(target=process.stderr.read, daemon=True).start()  # the log
            host, port = found[1], int(found[2])
            asked(host, port, texts[:20])
            results["over HTTP"] = latency(asked(host, port, texts))
            per_second = throughput(host, port, texts, given.connections)
            results["over HTTP"]["requests_per_second"] = per_second
            process.terminate()
    rows = [[name, f"{one['p50_ms']:.2f}", f"{one['p99_ms']:.2f}"]
            for name, one in results.items()]  # fmt: skip
    show(f"{given.data.name}, one text at a time", ["", "p50 ms", "p99 ms"], rows)
    print(f"{per_second:.0f} requests a second, {given.connections} connections")
    finish("server_latency", rows_of(results), store=not given.no_store)


def in_process(tagger: Tagger, texts: list[str]) -> list[float]:
    """Seconds of each call."""
    times = []
    for text in texts:
        start = time.perf_counter()
        tagger.predict([text])
        times.append(time.perf_counter() - start)
    return times


def asked(host: str, port: int, texts: list[str]) -> list[float]:
    """Seconds of each request, one after the other over one connection."""
    connection = http.client.HTTPConnection(host, port)
    times = []
    for text in texts:
        body = json.dumps({"texts": [text]})
        start = time.perf_counter()
        connection.request("POST", "/v1/predict", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        json.loads(answer.read())
        times.append(time.perf_counter() - start)
        assert answer.status == 200
    connection.close()
    return times


def throughput(host: str, port: int, texts: list[str], n: int) -> float:
    """Requests a second over `n` connections."""
    threads = [threading.Thread(target=asked, args=(host, port, texts[i::n])) for i in range(n)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(texts) / (time.perf_counter() - start)


def latency(times: list[float]) -> dict[str, float]:
    """Milliseconds, the median and the 99th percentile."""
    ordered = sorted(times)
    return {
        "p50_ms": 1e3 * statistics.median(ordered),
        "p99_ms": 1e3 * ordered[int(0.99 * len(ordered))],
    }


if __name__ == "__main__":
    main()
