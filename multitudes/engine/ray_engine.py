"""Work on the machines of a Ray cluster.

Ray schedules, moves what is shared to each machine once, and repeats what was lost with a machine.
What it cannot repeat is what was lost with the head: see `multitudes.engine.head`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from multitudes.engine.cluster import Further, Item, Result, in_use
from multitudes.engine.head import SECONDS_BETWEEN_LOOKS, Head, parsed
from multitudes.errors import ConfigError, MultitudesError, ResourceError, require
from multitudes.version import __version__

PARTS_PER_CORE = 4  # of what is left
LAST_PARTS_PER_CORE = 32  # of all: parts are not shorter than that
LATER_PARTS_PER_CORE = 8  # of what there was at first: parts of what is found later
SECONDS_TO_ANSWER = 5.0
RETRIES = 3  # of a piece of work whose worker died


@contextmanager
def ray_cluster(address: str | None = "auto") -> Iterator[None]:
    """Train trees on all machines of a Ray cluster.

    Weights are those that one machine finds, bit for bit where processors are alike. What is
    trained so: the rankers of `XRLinear`, `Parabel` and `OneVsAll`, and of what is built on them
    (`Disentangled`, `Eagle`). Everything else runs on this machine. A worker or a machine that is
    lost costs time; if the head is, `ResourceError` says so within seconds, and a fit with a
    `checkpoint` can go on from what was finished.

    Parameters
    ----------
    address : str, optional
        ``"auto"``: the cluster this machine belongs to (``ray start``); ``"host:6379"`` or
        ``"ray://host:10001"``: that one; None: a cluster of this machine alone, for the time of
        the ``with``. An existing connection to Ray is kept.

    Examples
    --------
    >>> from multitudes import XRLinear
    >>> from multitudes.engine import ray_cluster
    >>> with ray_cluster():  # doctest: +SKIP
    ...     model = XRLinear().fit(X, Y)
    """
    ray = require("ray", extra="ray")
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, address)
    try:
        head = Head.of(ray, address, ours=ours)
        check_machines(ray)
        with in_use(RayCluster(ray, head)):
            yield
    finally:
        if ours:  # without a head this takes Ray five seconds, and keeps it from ending the process
            ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    _check_address(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent that nobody asked for
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        options["include_dashboard"] = False
    try:
        ray.init(address="local" if address is None else address, **options)
    except Exception as error:  # Ray has one for each way of not getting there
        raise _no_cluster(address, error) from error


def _check_address(address: str | None) -> None:
    """Refuse an address that is malformed or does not answer: Ray would try for minutes."""
    if address in (None, "auto"):
        return
    try:
        host, port = parsed(str(address))
    except ValueError:
        host, port = "", 0
    if not host:
        raise ConfigError(
            f"the address of a Ray cluster is 'auto', 'HOST:PORT' or 'ray://HOST:PORT', "
            f"got {address!r}"
        )
    try:
        socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, error) from error


def _no_cluster(address: str | None, error: BaseException) -> ConfigError:
    return ConfigError(
        f"there is no Ray cluster at {address!r} ({_first_line(error)}): start one with  ray start "
        "--head  and  ray start --address HOST:6379  on the other machines"
    )


class RayCluster:
    """A `Cluster` of the machines Ray is connected to; see `ray_cluster`."""

    def __init__(self, ray: Any, head: Head) -> None:
        self._ray = ray
        self._head = head
        self._tasks: dict[Callable[..., Any], Any] = {}

    def map(
        self,
        function: Callable[[Any, list[Item]], list[Result]],
        shared: Any,
        items: Sequence[Item],
        *,
        costs: Sequence[float],
        advance: Callable[[float], None],
        further: Further[Item] | None = None,
    ) -> list[Result]:
        """See `Cluster.map`."""
        self._head.check(at_once=True)
        ray = self._ray
        n_cores = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        todo = list(zip(items, costs, strict=True))
        results: dict[int, Result] = {}
        orders: dict[Any, list[int]] = {}
        try:
            remote, held = self._task(function), ray.put(shared)

            def order(part: list[int]) -> None:
                orders[remote.remote(held, [todo[i][0] for i in part])] = part

            for part in shrinking_parts(costs, n_cores):
                order(part)
            while orders:
                self._head.check()
                done, _ = ray.wait(list(orders), timeout=SECONDS_BETWEEN_LOOKS)
                for one in done:
                    part = orders.pop(one)  # at once: to cancel what has failed can end Ray
                    results.update(zip(part, self._get(one), strict=True))
                    advance(sum(todo[i][1] for i in part))
                    new = [more for i in part for more in further(i)] if further else []
                    todo += new
                    for own in later_parts([cost for _, cost in new], sum(costs), n_cores):
                        order([len(todo) - len(new) + i for i in own])
        except Exception as error:  # without a head, of any kind
            of_ray = isinstance(error, ray.exceptions.RayError)
            if isinstance(error, MultitudesError) and not of_ray:  # the head is lost, or `further`
                raise
            self._head.check(at_once=True)
            raise _failure(ray, error) from error
        finally:  # of what failed here or was interrupted, nothing goes on there
            for one in () if self._head.lost else orders:
                ray.cancel(one, force=True)
        return [results[i] for i in range(len(todo))]

    def _task(self, function: Callable[..., Any]) -> Any:
        """Return a function as a task of Ray: one for all calls, or workers fetch it again."""
        if function not in self._tasks:
            as_task = self._ray.remote(
                num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD"
            )
            self._tasks[function] = as_task(function)
        return self._tasks[function]

    def everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """See `Cluster.everywhere`."""
        return [self._ray.get(order) for order in asked(self._ray, function).values()]

    def _get(self, order: Any) -> Any:
        """Return a result; it may lie with another machine and take a while to come."""
        while True:
            try:
                return self._ray.get(order, timeout=SECONDS_BETWEEN_LOOKS)
            except self._ray.exceptions.GetTimeoutError:
                self._head.check()


def shrinking_parts(costs: Sequence[float], n_cores: int) -> list[list[int]]:
    """Numbers of items that stand together: long parts first, for few orders, and short ones last.

    A part is a share of what is left, so that no core works on alone for long at the end.
    """
    smallest = sum(costs) / (LAST_PARTS_PER_CORE * n_cores)
    return _parts(costs, lambda left: max(left / (PARTS_PER_CORE * n_cores), smallest))


def later_parts(costs: Sequence[float], total: float, n_cores: int) -> list[list[int]]:
    """Return the parts of items that were found later, all of a share of the first items' cost."""
    return _parts(costs, lambda _: total / (LATER_PARTS_PER_CORE * n_cores))


def _parts(costs: Sequence[float], share: Callable[[float], float]) -> list[list[int]]:
    """Numbers of items that stand together, until they have a share of what was left before."""
    left, room = sum(costs), 0.0
    parts: list[list[int]] = []
    for i, cost in enumerate(costs):
        if room <= 0 or not parts:
            parts.append([])
            room = share(left)
        parts[-1].append(i)
        room -= cost
        left -= cost
    return parts


def _failure(ray: Any, error: Exception) -> Exception:
    """Return what to raise for what went wrong there: our own errors say it themselves."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, MultitudesError):
        return type(cause)(str(cause))
    if isinstance(error, ray.exceptions.WorkerCrashedError | ray.exceptions.OutOfMemoryError):
        return ResourceError(
            f"a worker of the Ray cluster died {RETRIES + 1} times at the same piece of work "
            f"({_first_line(error)}): most often its machine has too little memory; give machines "
            "fewer cores or more memory, or cut the data into more shards"
        )
    return ResourceError(f"the Ray cluster could not do its work: {_first_line(error)}")


def asked(ray: Any, function: Callable[[], Result]) -> dict[tuple[str, str], Any]:
    """Return, for the address and id of each machine that works, the order to run a function."""
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    return {
        (node["NodeManagerAddress"], node["NodeID"]): ray.remote(num_cpus=0)(function)
        .options(scheduling_strategy=strategy(node["NodeID"], soft=False))
        .remote()
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU")
    }


def check_machines(ray: Any) -> None:
    """Refuse a cluster whose machines lack this library, or have another version of it."""
    orders = asked(ray, version_here)
    if not orders:
        raise ConfigError("no machine of the Ray cluster has a core to work with")
    for (machine, _), order in orders.items():
        try:
            version = ray.get(order)
        except ray.exceptions.TaskUnschedulableError:
            continue  # it has just died, and Ray knows by now
        except ray.exceptions.RayError as error:
            raise ConfigError(
                f"the machine {machine} of the Ray cluster cannot run multitudes "
                f"({_first_line(error)}): install multitudes {__version__} on all of them"
            ) from error
        if version != __version__:
            raise ConfigError(
                f"the machine {machine} of the Ray cluster has multitudes {version}, this one "
                f"{__version__}: install the same version on all of them"
            )


def version_here() -> str:
    """Return the version of multitudes on the machine that is asked."""
    return __version__


def _first_line(error: BaseException) -> str:
    """What went wrong at the bottom of it, in one line."""
    while isinstance(cause := getattr(error, "cause", None), BaseException):  # in a worker
        error = cause
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[-1] if len(lines) > 1 else lines[0]}"
