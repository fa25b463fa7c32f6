"""What would 16 or 256 machines do? ``python -m benchmarks.cluster_model``.

A simulation of `multitudes.shards.train_shards` from the costs that `benchmarks.cluster` measured
on one Ray node (`benchmarks/results/cluster.json`): the seconds of every piece of work, of the
driver between stages, and what an order to a worker costs. Cores take parts of the work in turn,
longest first, a stage begins when the one before has ended, and more nodes than cores share these
evenly. It is held against the seconds measured on 1, 2 and 4 nodes, then asked about larger
clusters and more data: pieces of work grow as said in `grown`, and rows travel at the speed of the
network.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.report import RESULTS, finish, rows_of, show
from multitudes.engine.ray_engine import later_parts, shrinking_parts

CORES_HERE = 2  # of the machine that was measured
TOLERANCE = 0.2
SUBTREE_LEVELS = 7  # splits in two, one below the other, in a subtree of the case measured
PIECE_SECONDS = 2.0  # of a piece of work that can be cut, with more data
GIGABYTE = 2**30


@dataclass(frozen=True)
class Round:
    """Pieces of work of a stage: their seconds, in the order in which they are begun, and costs.

    `before` are the driver's seconds, `gigabytes` what all machines together pull over the network.
    A piece that waits for another one has its place in `above`, all others None.
    """

    stage: str
    seconds: list[float]
    costs: list[float]
    above: list[int | None] = field(default_factory=list)
    before: float = 0.0
    gigabytes: float = 0.0


@dataclass(frozen=True)
class Overheads:
    """Seconds: to start workers, for each order, for the driver to save the model."""

    start: float
    order: float
    end: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machines", type=int, nargs="+", default=[1, 16, 256])
    parser.add_argument("--cores", type=int, default=16, help="of each of these machines")
    parser.add_argument("--network", type=float, default=1.0, help="gigabytes a second and machine")
    parser.add_argument("--times", type=int, default=100, help="as many instances as measured")
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    nodes_measured = json.loads((RESULTS / "cluster.json").read_text())["raw"]["nodes"]
    rounds, overheads = read(nodes_measured["1"])
    checks = {}
    for nodes, one in nodes_measured.items():
        found = simulate(rounds, overheads, int(nodes), physical=CORES_HERE)
        measured = one["seconds"]
        checks[nodes] = {"measured": measured, "model": found, "error": found / measured - 1}
    rows = [
        [n, f"{one['measured']:.1f}", f"{one['model']:.1f}", f"{100 * one['error']:+.0f} %"]
        for n, one in checks.items()
    ]
    show("10^6 instances, nodes of one core on two cores", ["nodes", "measured", "model", ""], rows)
    worst = max(abs(one["error"]) for one in checks.values())
    if worst > TOLERANCE:
        print(f"the model is off by {worst:.0%}, more than {TOLERANCE:.0%}")
    larger = grown(rounds, given.times)
    growing = replace(overheads, end=overheads.end * given.times)
    forecasts = {}
    for data, (some, costs) in {
        "measured": (rounds, overheads), f"{given.times} times": (larger, growing)
    }.items():  # fmt: skip
        for machines in given.machines:
            seconds = simulate(
                some, costs, machines * given.cores, machines=machines, network=given.network
            )
            work = sum(sum(one.seconds) for one in some)
            forecasts[f"{data}, {machines} machines"] = {
                "seconds": seconds,
                "core_hours": work / 3600,
                "busy": work / (seconds * machines * given.cores),
                "longest": max(max(one.seconds) for one in some),
            }
    rows = [
        [name, f"{one['seconds'] / 60:.1f}", f"{one['core_hours']:.1f}", f"{one['busy']:.0%}",
         f"{one['longest'] / 60:.1f}"]
        for name, one in forecasts.items()
    ]  # fmt: skip
    columns = ["data, machines", "minutes", "core hours", "cores busy", "longest piece, minutes"]
    show(f"Machines of {given.cores} cores", columns, rows)
    by_nodes = {f"{n} node{'s' * (n != '1')}": check for n, check in checks.items()}
    sections = {"checks": by_nodes, "all checks": {"worst_error": worst}, **forecasts}
    finish("cluster_model", rows_of(sections), settings=vars(given), store=not given.no_store)


def read(measured: dict[str, Any]) -> tuple[list[Round], Overheads]:
    """Return the rounds that were measured on one node, in order, and the costs around them."""
    rounds: list[Round] = []
    idle, n_orders, start = 0.0, 0, 0.0
    pulled = measured["pulled_mb"] / 1024
    for stage, own in measured["stages"].items():
        pulls = {"embeddings": pulled / 4, "rankers": 3 * pulled / 4}.get(stage, 0.0)
        above = [] if set(own["above"]) == {None} else own["above"]
        rounds.append(Round(stage, own["seconds"], own["costs"], above, own["before"], pulls))
        spare = own["wall"] - sum(own["seconds"])
        if len(rounds) == 1:
            start = spare
            continue
        idle += max(spare, 0.0)
        n_orders += played(rounds[-1], 1, 0.0)[1]
    inside = sum(own["wall"] + own["before"] for own in measured["stages"].values())
    return rounds, Overheads(start, idle / n_orders, measured["seconds"] - inside)


def simulate(
    rounds: Sequence[Round],
    overheads: Overheads,
    cores: int,
    *,
    physical: int | None = None,
    machines: int = 1,
    network: float = math.inf,
) -> float:
    """Return the seconds of a training.

    Parameters
    ----------
    cores : int
        Workers, of one core each.
    physical : int, optional
        Cores there really are, if fewer.
    machines, network
        Each pulls so many gigabytes a second.
    """
    slow = max(1.0, cores / physical) if physical is not None else 1.0
    # Workers start side by side; without cores of their own, in turns.
    seconds = overheads.start * slow + overheads.end
    for one in rounds:
        busy = min(cores, len(one.seconds))
        share = max(1.0, busy / physical) if physical is not None else 1.0
        seconds += one.before + played(one, cores, overheads.order)[0] * share
        seconds += one.gigabytes / (network * machines)
    return seconds


def played(one: Round, cores: int, order: float) -> tuple[float, int]:
    """Return when the last order is done, if each free core takes the next, and how many there are.

    An order takes `order` seconds by itself; what waits for a piece is ordered once that is done.
    """
    above = one.above or [None] * len(one.seconds)
    below: dict[int, list[int]] = defaultdict(list)
    for i, other in enumerate(above):
        if other is not None:
            below[other].append(i)
    first = [i for i, other in enumerate(above) if other is None]
    costs = [one.costs[i] for i in first]
    waiting = deque([first[i] for i in part] for part in shrinking_parts(costs, cores))
    now, n_orders = 0.0, 0
    running: list[tuple[float, int, list[int]]] = []
    while waiting or running:
        while waiting and len(running) < cores:
            part = waiting.popleft()
            heapq.heappush(
                running, (now + order + sum(one.seconds[i] for i in part), n_orders, part)
            )
            n_orders += 1
        now, _, done = heapq.heappop(running)
        new = [i for number in done for i in below[number]]
        parts = later_parts([one.costs[i] for i in new], sum(costs), cores)
        waiting.extend([new[i] for i in part] for part in parts)
    return now, n_orders


def grown(rounds: Sequence[Round], times: int) -> list[Round]:
    """Return the rounds of so many times the instances, labels and words.

    A tree of so many times the labels has log_16(times) levels more, each of which costs as much
    as one of the others. Pieces of work that can be cut are of about two seconds; the rankers of
    the root and of each of its children cannot be cut, nor can the first splits of the clustering.
    """
    further = math.log(times, 16)
    larger: list[Round] = []
    for one in rounds:
        before, gigabytes = one.before * times, one.gigabytes * times
        if one.stage == "rankers":
            cut = sorted(one.seconds)[len(one.seconds) // 2] * 4
            whole = [s * times for s in one.seconds if s > cut]
            rest = sum(s for s in one.seconds if s <= cut) * times
            rest += sum(one.seconds) / 5 * further * times  # five levels were measured
            seconds = whole + pieces(rest)
        elif one.stage in ("tree", "weights"):
            seconds = [s * times for s in one.seconds]
        else:
            seconds = pieces(sum(one.seconds) * times)
        if one.above:
            costs = [cost * times for cost in one.costs]
        else:
            seconds.sort(reverse=True)
            costs = seconds
        larger.append(Round(one.stage, seconds, costs, one.above, before, gigabytes))
    tree = next(one for one in larger if one.stage == "tree")
    subtrees = sum(tree.seconds[i] for i in set(range(len(tree.seconds))) - set(tree.above))
    deeper = pieces(subtrees / SUBTREE_LEVELS * math.log2(times))
    place = larger.index(tree) + 1
    return [*larger[:place], Round("tree", deeper, deeper), *larger[place:]]


def pieces(seconds: float) -> list[float]:
    """Work that can be cut, in pieces of about two seconds."""
    n = max(1, round(seconds / PIECE_SECONDS))
    return [seconds / n] * n


if __name__ == "__main__":
    main()
