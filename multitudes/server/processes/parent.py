"""What a worker and its parent tell each other: lines of JSON over a pair of sockets."""

from __future__ import annotations

import os
import queue
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import orjson

from multitudes.errors import MultitudesError

PATIENCE = 600.0  # seconds for a model to be read again


class Parent:
    """The process that looks after this worker.

    Parameters
    ----------
    control : socket
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._asking = threading.Lock()

    def start(self) -> None:
        """Listen to it; if it is gone, end as if it had said so."""
        threading.Thread(target=self._listen, name="parent", daemon=True).start()

    def is_up(self) -> None:
        """Tell it that requests are answered."""
        send_line(self._control, {"up": True})

    def has_closed(self) -> None:
        """Tell it that no more connections are taken."""
        send_line(self._control, {"closed": True})

    def reload(self, name: str) -> dict[str, Any]:
        """Have all workers take up what is in a model's folder; return what is served then."""
        with self._asking:
            send_line(self._control, {"reload": name})
            try:
                answer = self._answers.get(timeout=PATIENCE)
            except queue.Empty:
                raise MultitudesError("the model was not read again in time") from None
        if "error" in answer:
            raise MultitudesError(answer["error"])
        about: dict[str, Any] = answer["about"]
        return about

    def _listen(self) -> None:
        received = b""
        while True:
            try:
                piece = self._control.recv(65536)
            except OSError:
                piece = b""
            if not piece:
                os.kill(os.getpid(), signal.SIGTERM)
                return
            received += piece
            *lines, received = received.split(b"\n")
            for line in lines:
                self._answers.put(orjson.loads(line))


def send_line(control: socket.socket, content: dict[str, Any]) -> None:
    """Send a line; to a process that has ended, nothing."""
    try:
        control.sendall(orjson.dumps(content) + b"\n")
    except OSError:
        return


def lines_of(received: bytes) -> Iterator[dict[str, Any]]:
    """Yield what whole lines say."""
    for line in received.split(b"\n")[:-1]:
        yield orjson.loads(line)
