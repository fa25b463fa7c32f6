"""Run the application until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from multitudes.errors import ConfigError
from multitudes.server import Limits
from multitudes.server.app import make_app
from multitudes.tagger import Tagger


def serve(
    tagger: Tagger,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits = Limits(),
    verbose: bool = True,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Answer requests until Ctrl-C.

    Parameters
    ----------
    tagger : Tagger
    host : str
        Address to listen at. There is no password: listen at more than this machine's own address
        only behind a server that has one.
    port : int
        0 for any that is free.
    limits : Limits
    verbose : bool
        Log each request.
    ready : function of the URL, optional
        Called when requests are about to be answered.
    """
    app = make_app(tagger, limits=limits)
    listening = bound(host, port)
    tagger.predict(["warm"], top_k=1)  # the first request finds everything loaded and compiled
    shown = f"[{host}]" if ":" in host else host
    if ready is not None:
        ready(f"http://{shown}:{listening.getsockname()[1]}")
    level = "info" if verbose else "warning"
    config = uvicorn.Config(app, log_level=level)
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


def bound(host: str, port: int) -> socket.socket:
    """Return a socket at an address, or raise an error that says what is wrong with it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # With its protocol: asyncio sends small answers at once only if it knows it is TCP.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # a request before the server runs waits, and is not refused
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen at {host}, port {port}: {error}; choose others with --host and --port"
        ) from None
    return listening
