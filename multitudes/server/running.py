"""Run the application until it is stopped."""

from __future__ import annotations

import gc
import logging
import socket
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from multitudes.data.vocabularies.subjects import Vocabularies
from multitudes.errors import ConfigError
from multitudes.kernels.threads import available_cores
from multitudes.server.access import Access
from multitudes.server.answers import predict_job
from multitudes.server.app import make_app
from multitudes.server.batching import Batch
from multitudes.server.bodies import is_number
from multitudes.server.http.accepting import BACKLOG, Server
from multitudes.server.limits import Limits
from multitudes.server.messages import PredictRequest
from multitudes.server.models import Models
from multitudes.server.processes.folders import watched
from multitudes.server.processes.parent import Parent
from multitudes.server.processes.releasing import release_when_gone
from multitudes.server.processes.workers import Workers
from multitudes.server.reading import parsed
from multitudes.server.watching.lines import Lines, take_over
from multitudes.tagger import Tagger

SPARE_FILES = 48  # for all else: connections are accepted some turns before others close
TURN = 0.0001  # seconds that a prediction in Python may keep the event loop waiting
SHARED = ("max_connections", "max_waiting", "max_held")  # limits that several processes divide


def serve(
    given: Tagger | Mapping[str, Tagger] | Models,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits = Limits(),
    hosts: Collection[str] | None = None,
    corrections: str | PathLike[str] | None = None,
    vocabularies: Vocabularies = Vocabularies(),
    access: Access = Access(),
    log: str = "text",
    workers: int = 1,
    watch: bool = False,
    ready: Callable[[str], None] | None = None,
) -> bool:
    """Answer requests until Ctrl-C or SIGTERM; a second one ends the process at once.

    Parameters
    ----------
    given : Tagger, mapping of names to Taggers, or Models
    host : str
        Address to listen at. Without keys everybody who can reach it may ask, and there is no
        encryption: listen at more than this machine's own address behind a server that has it.
    port : int
        0 for any that is free.
    limits : Limits
    hosts : collection of str, optional
        Names by which clients may address the server, beside numeric addresses; "*" for any. By
        default localhost alone at this machine's own address, so that pages of other sites cannot
        reach it under a name of theirs, and any name at other addresses.
    corrections : path, optional
        The file that corrections are appended to; by default none are taken.
    vocabularies : Vocabularies
        What labels are called at Annif's addresses; models' own titles by default.
    access : Access
        Who may ask; by default everybody who can reach the address.
    log : {"text", "json", "none"}
        How a line for each request is written to stderr.
    workers : int
        Processes that answer; they share the models and the cores.
    watch : bool
        Take up new versions of the models' folders.
    ready : function of the URL, optional
        Called when requests are about to be answered.

    Returns
    -------
    bool
        Whether everything was answered; if not, a prediction may still run in a thread.
    """
    if hosts is None and _is_own(host):
        hosts = ("localhost", host)
    models = Models.of(given)
    options: dict[str, Any] = {
        "limits": limits,
        "hosts": hosts,
        "corrections": corrections,
        "vocabularies": vocabularies,
        "access": access,
        "log": log,
    }
    models.prepare = partial(warm_up, limits=limits)
    with bound(host, port, shared=workers > 1) as listening:
        _warm_up_all(models, limits)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listening.getsockname()[1]}"
        tell = partial(ready or (lambda _: None), url)
        if workers == 1:
            models.release = release_when_gone
            app = make_app(models, **options)
            tell()
            return _answer(app, listening, watch=watch)
        several = Workers(
            models,
            listening,
            n=workers,
            run=partial(_work, models, options, workers),
            say=log_of(log),
            watch=watch,
            grace_seconds=limits.grace_seconds,
        )
        several.run(tell)
    return True


def _work(
    models: Models, options: dict[str, Any], n: int, listening: socket.socket, parent: Parent
) -> bool:
    """Answer requests in one of several processes, which share what the limits allow."""
    limits: Limits = options["limits"]
    shared = {name: -(-getattr(limits, name) // n) for name in SHARED}
    app = make_app(models, **options | {"limits": limits.replaced(**shared)})
    app.state.work.n_threads = max(1, available_cores() // n)
    return _answer(app, listening, started=parent.is_up, closed=parent.has_closed)


def _answer(
    app: Any,
    listening: socket.socket,
    *,
    watch: bool = False,
    **told: Callable[[], None],
) -> bool:
    """Answer requests until a signal comes; return whether all were answered."""
    limits = app.state.context.limits
    limits = limits.replaced(max_connections=possible_connections(limits.max_connections))
    lines = app.state.lines
    watching = watched(app.state.context.models) if watch else nullcontext()
    with listening, _turns(), watching:
        level = "info" if lines else "warning"
        server = Server(app, app.state.work, limits, log_level=level, **told)
        take_over(lines)
        server.run(sockets=[listening])
    return server.answered_all


def log_of(kind: str) -> Callable[[int, str], None]:
    """Return what writes a line of the log at once, for a process that has no server."""
    lines = Lines(kind)

    def say(level: int, message: str) -> None:
        if lines or level >= logging.WARNING:
            lines.add(level=logging.getLevelName(level).lower(), message=message)
            lines.write()

    return say


def _warm_up_all(models: Models, limits: Limits) -> None:
    """Warm all models up; a function of its own, so that none of them is held for ever."""
    for served in models:
        warm_up(served.tagger, limits)


def warm_up(tagger: Tagger, limits: Limits) -> None:
    """Do all that a request does once, so that the first one finds it loaded and compiled."""
    asked = parsed(b'{"texts": ["warm"], "top_k": 1}', PredictRequest, limits)
    job = predict_job(tagger, asked)
    Batch([(job, 1)]).step()
    if job.error is not None:
        raise job.error
    gc.collect()
    gc.freeze()  # what is here now stays: looking through it took 0.2 s, and stopped all threads


@contextmanager
def _turns() -> Iterator[None]:
    """Let the event loop have its turn sooner than Python's threads usually do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def possible_connections(wanted: int) -> int:
    """Return how many connections fit into the number of files this process may open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    with suppress(OSError):
        soft -= len(list(Path("/dev/fd").iterdir()))
    return max(1, min(wanted, soft - SPARE_FILES))


def _is_own(host: str) -> bool:
    """Whether an address is this machine's own, which others cannot reach."""
    return host in ("localhost", "::1") or (is_number(host) and host.startswith("127."))


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket at an address, or raise an error that says what is wrong with it.

    It listens, unless it is `shared`: then it holds the address for sockets of several processes.
    """
    if shared and sys.platform.startswith("linux"):
        with bound(host, port) as alone:  # nobody else is there
            port = alone.getsockname()[1]
    else:
        shared = False
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With its protocol: asyncio sends small answers at once only if it knows it is TCP.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(address)
        if shared:
            return listening
        listening.listen(BACKLOG)  # a request before the server runs waits, and is not refused
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen at {host}, port {port}: {error}; choose others with --host and --port"
        ) from None
    return listening
