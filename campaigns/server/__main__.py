"""``python -m campaigns.server``: requests over real sockets that try to break a server."""

from __future__ import annotations

import http.client
import importlib.util
import io
import json
import random
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from campaigns.framework import Campaign, Case, Nameless, Outcome, SilentChange, main
from campaigns.mutation import JSON, NUMBERS, Mutation
from campaigns.server import raw, values

RAW, BODIES, VALUES, SAME = "raw", "bodies", "values", "same"
MANNERS = {f"{RAW}, {manner}": manner for manner in raw.MANNERS}
PATIENCE = 6.0  # seconds in which the server must answer or close; its own limits are shorter
KEPT = {"whole", "in pieces"}  # manners after which another request may follow
CLOSING = "whole, the last one"
QUIET = 0.05  # seconds after which no further answer is awaited then
LOOK_EVERY = 50  # cases between two looks at /health
ALLOWED_ERRORS = {501, 503}  # of the server: what it does not have, and no room now


class WrongCode(Exception):  # noqa: N818  an outcome
    """An answer with a code that says that the server failed."""


class Server(Campaign):
    """No bytes that a client sends end the server, hang it, or bring an error that is not its own.

    The server runs in a thread of the process in which the cases run: whatever ends it, or takes
    memory, ends the case too.
    """

    name = "server"
    targets = (*MANNERS, BODIES, VALUES, SAME)
    time_limit = 10.0
    memory_bound = 300 << 20
    batch = 500
    default_cases = 5_000

    def __init__(self) -> None:
        self.port = 0
        self.n_run = 0

    def prepare(self, folder: Path) -> None:
        if self.unavailable():
            return
        from multitudes import Tagger
        from multitudes.data import make_catalogue

        shop = make_catalogue(900, n_labels=30, random_state=1).dataset
        tagger = Tagger("xr-linear", n_jobs=1).fit(shop[:600]).calibrate(shop[600:])
        tagger.save(folder / "model")
        self.enter(folder)

    def enter(self, folder: Path) -> None:
        self.kept = folder / "corrections.jsonl"
        self.requests = Mutation(raw.corpus(), raw.TOKENS)
        bodies = [json.dumps(body).encode() for body in raw.BODIES]
        self.bodies = Mutation(bodies, (*JSON, *NUMBERS, *raw.TOKENS[-8:]))
        if self.unavailable():
            return
        from multitudes import Tagger
        from multitudes.server import Limits
        from multitudes.server.running import warm_up

        self.tagger = Tagger.load(folder / "model", in_memory=True)
        self.limits = Limits(
            max_body=1_000_000, max_connections=60, header_seconds=0.3, body_seconds=0.3,
            idle_seconds=1.0, write_seconds=1.0, answer_seconds=5.0, grace_seconds=0.1,
        )  # fmt: skip
        warm_up(self.tagger, self.limits)

    def unavailable(self) -> dict[str, str]:
        missing = [name for name in ("fastapi", "uvicorn") if not importlib.util.find_spec(name)]
        return dict.fromkeys(self.targets, f"needs {', '.join(missing)}") if missing else {}

    def draw(self, rng: random.Random, target: str) -> Case:
        if target in MANNERS:
            return Case(target, raw.drawn(rng, self.requests))
        if target == BODIES:
            return Case(target, self.bodies.draw(rng))
        content = values.request(rng) if target == VALUES else values.legal_request(rng)
        return Case(target, json.dumps(content).encode())

    def run(self, case: Case) -> Outcome | None:
        if not self.port:
            self._start()
        self.n_run += 1
        if case.target in MANNERS:
            answers = self._sent(case.content, MANNERS[case.target])
        else:
            explains = b'"text":' in case.content
            path = b"/v1/explain" if explains else b"/v1/predict"
            closing = (b"connection: close",)
            data = raw.request(case.content, path=path, headers=closing)
            answers = self._sent(data, CLOSING)
            if not answers:
                raise WrongCode("a whole request got no answer")
        for code, content in answers:
            judge(code, content)
        if case.target == SAME:
            self._compare(json.loads(case.content), *answers[0])
        if self.n_run % LOOK_EVERY == 0:
            self._look()
        refused = bool(answers) and all(code >= 400 for code, _ in answers)
        return Outcome("refused" if refused else "answered")

    def suffix(self, target: str) -> str:
        return ".http" if target in MANNERS else ".json"

    def _start(self) -> None:
        """Start the server in a thread of this process."""
        from multitudes.server import make_app, running
        from multitudes.server.running import Server as Running
        from multitudes.server.running import bound

        running.LOOK_EVERY = 0.05
        app = make_app(self.tagger, limits=self.limits, corrections=self.kept)
        listening = bound("127.0.0.1", 0)
        self.port = listening.getsockname()[1]
        self.server = Running(app, app.state.work, self.limits, log_level="critical")
        self.thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [listening]}, daemon=True
        )
        self.thread.start()
        self._look()

    def _sent(self, data: bytes, manner: str) -> list[tuple[int, bytes]]:
        """Send bytes, and return the answers that came until the server closed the connection."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        received = b""
        try:
            raw.MANNERS.get(manner, raw.send_whole)(client, data)
            if client.fileno() < 0:
                return []
            until = time.monotonic() + PATIENCE
            while piece := client.recv(1 << 16):
                received += piece
                client.settimeout(QUIET if manner in KEPT else PATIENCE)
                if time.monotonic() > until:
                    raise TimeoutError
        except ConnectionError:
            pass
        except TimeoutError:
            if not received or manner not in KEPT:
                raise WrongCode(f"nothing came, nor an end, for {PATIENCE:g} s") from None
        finally:
            client.close()
        return answers_in(received, b"HEAD" in data)

    def _compare(self, content: dict[str, Any], code: int, answer: bytes) -> None:
        """Hold an answer against that of the tagger itself."""
        from multitudes.tagger import predict_tags

        expected = predict_tags(self.tagger, content.pop("texts"), **content)
        if code != 200:
            raise SilentChange(f"a legal request got {code}")
        found = [
            [(one["label"], one["score"]) for one in text["labels"]]
            for text in json.loads(answer)["predictions"]
        ]
        if found != [[(tag.label, tag.score) for tag in tags] for tags in expected]:
            raise SilentChange("the answer is not that of the tagger")

    def _look(self) -> None:
        """Ask for the server's health, and look for what it should have let go."""
        if not self.thread.is_alive():
            raise WrongCode("the server has ended")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", "/health", headers={"connection": "close"})
        answer = connection.getresponse()
        if (answer.status, answer.read()) != (200, b'{"status":"ok"}'):
            raise WrongCode(f"/health answered {answer.status}")
        connection.close()
        if len(self.server.server_state.connections) > self.limits.max_connections:
            raise WrongCode("more connections are open than are allowed")


def answers_in(received: bytes, to_head: bool) -> list[tuple[int, bytes]]:
    """Return (code, content) of each answer in what a server sent; the last may be cut off."""
    received = received.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
    stream = io.BytesIO(received)
    found = []
    while stream.tell() < len(received):
        answer = http.client.HTTPResponse(_Socket(stream))  # type: ignore[arg-type]
        try:
            answer.begin()
            found.append((answer.status, answer.read()))
        except (http.client.HTTPException, ValueError):
            if to_head:  # answers to HEAD have a length and no content
                break
            raise WrongCode(f"not an answer: {received[stream.tell() :][:100]!r}") from None
    return found


class _Socket:
    """What http.client wants of a socket: here, a stream that is not closed by it."""

    def __init__(self, stream: io.BytesIO) -> None:
        self.stream = stream

    def makefile(self, mode: str) -> Any:
        return _Kept(self.stream)


class _Kept(io.RawIOBase):
    def __init__(self, stream: io.BytesIO) -> None:
        self.stream = stream

    def read(self, n: int = -1) -> bytes:  # type: ignore[override]
        return self.stream.read(n)

    def readline(self, n: int = -1) -> bytes:  # type: ignore[override]
        return self.stream.readline(n)

    def readinto(self, buffer: Any) -> int:
        return self.stream.readinto(buffer)


def judge(code: int, content: bytes) -> None:
    """Raise unless an answer is one that the server should give."""
    if code >= 500 and code not in ALLOWED_ERRORS:
        raise WrongCode(f"{code}: {content[:300]!r}")
    if code < 400 or not content:
        return
    try:
        error = json.loads(content)["error"]
    except (ValueError, KeyError, TypeError):
        raise Nameless(f"{code} without an error in words: {content[:200]!r}") from None
    if len(error) > 4000:
        raise Nameless(f"{code} with {len(error)} characters of error")


if __name__ == "__main__":
    sys.exit(main(Server()))
