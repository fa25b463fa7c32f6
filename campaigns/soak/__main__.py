"""``python -m campaigns.soak --seconds 3600``: memory and handles of a server and of updates.

A server in a process of its own answers requests from several clients, some of which misbehave,
while another process updates its model in a loop and saves over the folder that is served. Memory,
handles and threads of both are recorded each second, in ``soak.samples.jsonl`` beside the result.
They must be flat: a line through the time after the first fifth, when caches fill, must not rise.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from campaigns.framework.findings import RESULTS
from campaigns.framework.report import console, store
from campaigns.soak.traffic import Traffic

MB = 1 << 20
WARM = 0.2  # of the time, in which memory may rise
MOST_GAINED = 8 * MB  # by the line, over the rest of the time; or this share, if that is more:
MOST_SHARE = 0.03
MOST_HANDLES = 5.0  # as many connections come and go at any time
SERVER_FLAGS = ["--header-seconds", "5", "--body-seconds", "5", "--idle-seconds", "5"]


def main(arguments: list[str] | None = None) -> int:
    """Soak; return 1 if something was not flat, or a request failed."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.soak")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=4, help="threads that send requests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=RESULTS / "soak.json")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="campaign-soak-") as folder:
        labels = prepare(Path(folder))
        result = soaked(Path(folder), labels, given)
    show(result)
    run = {"seconds": given.seconds, "clients": given.clients, "seed": given.seed}
    store(given.output.resolve(), "soak", result, run)
    return int(bool(result["broken"]))


def prepare(folder: Path) -> list[str]:
    """Fit the model, save it twice (to serve, and to begin each update with); return labels."""
    from multitudes import Tagger
    from multitudes.data import make_catalogue

    shop = make_catalogue(3000, n_labels=200, random_state=1).dataset
    tagger = Tagger("xr-linear").fit(shop[:2400]).calibrate(shop[2400:])
    tagger.save(folder / "base")
    tagger.save(folder / "live")
    return [str(name) for name in tagger.classes_[:50]]


def soaked(folder: Path, labels: list[str], given: argparse.Namespace) -> dict[str, Any]:
    """Run everything; return what was seen."""
    server, port = started(folder)
    updating = subprocess.Popen(
        [sys.executable, "-m", "campaigns.soak.updating", str(folder)],
        stdout=subprocess.PIPE,
        stderr=(folder / "updating.log").open("w"),
        text=True,
    )
    rounds: list[str] = []
    threading.Thread(target=lambda: rounds.extend(updating.stdout or ()), daemon=True).start()
    traffic = Traffic(port, labels, clients=given.clients, seed=given.seed)
    traffic.start()
    processes = {"server": psutil.Process(server.pid), "updates": psutil.Process(updating.pid)}
    try:
        samples = watched(processes, given.seconds, given.output.with_suffix(".samples.jsonl"))
        alive = {"server": server.poll() is None, "updates": updating.poll() is None}
    finally:
        traffic.stop()
        server.terminate()
        updating.kill()
    ended = ended_in(server)
    result: dict[str, Any] = {
        "requests": dict(sorted(traffic.counts.items())),
        "slowest_health_ms": round(1e3 * traffic.slowest_health, 1),
        "update_rounds": len(rounds),
        "ended_in_seconds": ended,
        "trends": {name: trend(samples, name) for name in processes},
        "samples": len(samples),
    }
    result["broken"] = broken(result, alive)
    if not alive["updates"]:
        result["updating_log"] = (folder / "updating.log").read_text()[-3000:]
    return result


def started(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a server; return it and its port."""
    command = [sys.executable, "-m", "multitudes", "serve", str(folder / "live"), "--port", "0"]
    server = subprocess.Popen(
        [*command, *SERVER_FLAGS], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    for line in server.stderr:
        address = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if address:
            threading.Thread(target=server.stderr.read, daemon=True).start()
            return server, int(address[1])
    raise SystemExit("the server did not start")


def watched(
    processes: dict[str, psutil.Process], seconds: float, path: Path
) -> list[dict[str, Any]]:
    """Look at the processes each second; what is seen is appended to a file at once."""
    samples: list[dict[str, Any]] = []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    begun = time.monotonic()
    while time.monotonic() < begun + seconds:
        sample: dict[str, Any] = {"second": round(time.monotonic() - begun, 1)}
        for name, process in processes.items():
            try:
                with process.oneshot():
                    sample[name] = {
                        "memory": process.memory_info().rss,
                        "handles": process.num_fds(),
                        "threads": process.num_threads(),
                    }
            except psutil.Error:
                return samples
        samples.append(sample)
        with path.open("a") as file:
            file.write(json.dumps(sample) + "\n")
        time.sleep(max(0.0, begun + len(samples) - time.monotonic()))
    return samples


def trend(samples: list[dict[str, Any]], name: str) -> dict[str, float]:
    """Return what memory and handles gained after the first fifth, by a line through the medians.

    The line is that of Theil and Sen over at most 200 medians: single peaks do not tilt it.
    """
    found: dict[str, float] = {}
    kept = samples[int(len(samples) * WARM) :]
    for what in ("memory", "handles", "threads"):
        values = [float(sample[name][what]) for sample in kept]
        if len(values) < 4:
            return {}
        size = max(1, len(values) // 200)
        medians = [statistics.median(values[i : i + size]) for i in range(0, len(values), size)]
        slopes = [
            (medians[j] - medians[i]) / (j - i)
            for i in range(len(medians))
            for j in range(i + 1, len(medians))
        ]
        found[f"{what}_median"] = statistics.median(values)
        found[f"{what}_most"] = max(values)
        found[f"{what}_gained"] = statistics.median(slopes) * (len(medians) - 1)
    return found


def broken(result: dict[str, Any], alive: dict[str, bool]) -> list[str]:
    """Return what is not as it should be, in words."""
    found = [f"the process of the {name} ended" for name, lives in alive.items() if not lives]
    for name, line in result["trends"].items():
        if not line:
            found.append(f"too few samples of the {name}")
            continue
        if line["memory_gained"] > max(MOST_GAINED, MOST_SHARE * line["memory_median"]):
            found.append(f"memory of the {name} gained {line['memory_gained'] / MB:.1f} MB")
        if line["handles_gained"] > MOST_HANDLES or line["threads_gained"] > MOST_HANDLES:
            found.append(f"handles or threads of the {name} rose")
    allowed = {"200", "503", "odd requests", "health"}
    found += [
        f"{count} times {what}" for what, count in result["requests"].items() if what not in allowed
    ]
    if not result["update_rounds"]:
        found.append("no update was finished")
    if result["ended_in_seconds"] is None:
        found.append("the server did not end when it was told to")
    return found


def ended_in(server: subprocess.Popen[str]) -> float | None:
    """Return the seconds a server takes to end, or None if it does not."""
    begun = time.monotonic()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        return None
    return round(time.monotonic() - begun, 2)


def show(result: dict[str, Any]) -> None:
    """Print the verdict."""
    for name, line in result["trends"].items():
        if line:
            console.print(
                f"{name}: {line['memory_median'] / MB:.0f} MB (gained "
                f"{line['memory_gained'] / MB:+.2f}), {line['handles_median']:.0f} handles (gained "
                f"{line['handles_gained']:+.2f}, at most {line['handles_most']:.0f}), "
                f"{line['threads_median']:.0f} threads"
            )
    console.print(json.dumps(result["requests"]), soft_wrap=True)
    console.print(
        f"{result['update_rounds']} updates; /health in {result['slowest_health_ms']} ms or less; "
        f"ended in {result['ended_in_seconds']} s"
    )
    console.print("flat" if not result["broken"] else "NOT as it should be: " + "; ".join(
        result["broken"]
    ))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
