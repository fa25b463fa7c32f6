"""``python -m campaigns.kills.ray``: trainings on a Ray cluster of which something is killed.

A case starts a cluster of one machine with two workers, and a training on it, and kills the
command, the head, or the workers at a random time once the training is on the cluster. Then the
same training runs without Ray, from the checkpoint if there is one: it ends with the model of a run
that was left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from campaigns.framework import Case, Outcome, main
from campaigns.kills.__main__ import Kills
from campaigns.kills.commands import COMMANDS, settle
from campaigns.kills.judging import Broken, check
from campaigns.kills.processes import SIGNALS, Disturbance, Ended, started

TARGETS = ("train-over", "train-checkpoint")
VICTIMS = ("command", "head", "workers")
NODE = {"num_cpus": 2, "object_store_memory": 100 << 20, "include_dashboard": False}
BEGINS = 40.0  # seconds for a training to be on the cluster
TAKES = 10.0  # seconds of a training on the cluster, about


class RayKills(Kills):
    """Trainings on a Ray cluster of which something is killed lose nothing."""

    name = "kills.ray"
    targets = TARGETS
    time_limit = 300.0
    batch = 5
    default_cases = 20

    def unavailable(self) -> dict[str, str]:
        return {} if find_spec("ray") else dict.fromkeys(TARGETS, "ray is not installed")

    def draw(self, rng: random.Random, target: str) -> Case:
        """Choose what is killed, how, and when."""
        victim = rng.choice(VICTIMS)
        means = rng.choice(("kill", "term", "int")) if victim == "command" else "kill"
        plan = {"victim": victim, "means": means, "after": rng.random() ** 2 * TAKES}
        return Case(target, json.dumps(plan).encode())

    def run(self, case: Case) -> Outcome | None:
        """Train on a cluster, kill something, look at what is there; train again without."""
        command, known = COMMANDS[case.target], self.known[case.target]
        plan = json.loads(case.content)
        place = Path("case").resolve()
        settle(command, self.base, place)
        with cluster() as head:
            ended = disturbed((*command.arguments, "--ray", head.address), place, head, plan)
        # Only a command that was killed itself may end by a signal: others say what happened.
        means = plan["means"] if plan["victim"] == "command" else "memory"
        try:
            check(command, known, place, means, ended)
        except Broken as broken:
            return broken.outcome
        return None


@contextmanager
def cluster() -> Iterator[Any]:
    """A cluster of this machine alone, with processes of its own."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args=NODE)
    try:
        yield made
    finally:
        with contextlib.suppress(Exception):  # some of it is dead already
            made.shutdown()


def disturbed(arguments: tuple[str, ...], place: Path, head: Any, plan: dict[str, Any]) -> Ended:
    """Run a command in a new process, and kill what the plan says once it is on the cluster."""
    over = threading.Event()

    def strike() -> None:
        deadline = time.monotonic() + BEGINS
        while not over.wait(0.05) and time.monotonic() < deadline:
            if workers_of(head):
                break
        over.wait(plan["after"])
        chosen = victims(plan["victim"], head)
        for process in chosen:
            with contextlib.suppress(psutil.Error):
                process.send_signal(SIGNALS[plan["means"]])

    striking = threading.Thread(target=strike)
    striking.start()
    try:
        return started(arguments, place, Disturbance())
    finally:
        over.set()
        striking.join()


def victims(which: str, head: Any) -> list[psutil.Process]:
    """The processes to be killed."""
    if which == "command":
        own = psutil.Process().children()
        return [one for one in own if "multitudes" in _words(one)]
    if which == "workers":
        return workers_of(head)
    return [psutil.Process(pid) for pid in _processes(head) if psutil.pid_exists(pid)]


def workers_of(head: Any) -> list[psutil.Process]:
    """The processes in which Ray runs parts of our work."""
    found = []
    for pid in _processes(head):
        with contextlib.suppress(psutil.Error):
            below = psutil.Process(pid).children(recursive=True)
            found += [one for one in below if _is_at_work(_words(one))]
    return found


def _is_at_work(words: list[str]) -> bool:
    """Whether a process has a name that Ray gives to those that run a task, and not to its own."""
    name = words[0] if words else ""
    return name.startswith("ray::") and "IDLE" not in name and "Agent" not in name


def _processes(head: Any) -> list[int]:
    every = head.head_node.all_processes.values()
    return [one.process.pid for processes in every for one in processes]


def _words(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(main(RayKills()))
