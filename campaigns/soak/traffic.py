"""What a soaked server gets: requests as they should be, and clients that misbehave."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import threading
import time
from collections import Counter

from campaigns.mutation import Mutation
from campaigns.server import raw

WORDS = ["oak", "writing", "desk", "drawers", "leather", "belt", "silver", "spoon", "wool", "coat"]


class Traffic:
    """Threads that ask until they are told to stop; counts what came back.

    Parameters
    ----------
    port
        Where the server is.
    labels
        Labels to ask explanations of.
    clients
        Threads that send requests, one after the other.
    seed
    """

    def __init__(self, port: int, labels: list[str], *, clients: int, seed: int) -> None:
        self.port = port
        self.labels = labels
        self.counts: Counter[str] = Counter()
        self.slowest_health = 0.0
        self._stop = threading.Event()
        works = [*[self._ask] * clients, self._misbehave, self._probe]
        self._threads = [
            threading.Thread(target=self._go_on, args=(work, random.Random((seed << 32) | number)))
            for number, work in enumerate(works)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self, work, rng: random.Random) -> None:  # type: ignore[no-untyped-def]
        while not self._stop.is_set():
            try:
                work(rng)
            except (OSError, http.client.HTTPException) as error:
                self.counts[f"{work.__name__.strip('_')}: {type(error).__name__}"] += 1
                time.sleep(0.05)

    def _ask(self, rng: random.Random) -> None:
        """Send a series of requests over one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for _ in range(rng.randrange(1, 50)):
            if self._stop.is_set():
                break
            path, content = self._drawn(rng)
            body = json.dumps(content)
            connection.request("POST", path, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            self.counts[f"{answer.status}"] += 1
        connection.close()

    def _drawn(self, rng: random.Random) -> tuple[str, dict[str, object]]:
        if rng.random() < 0.1:
            return "/v1/explain", {"text": _text(rng), "label": rng.choice(self.labels)}
        n = rng.choice([1, 1, 1, 1, 5, 30, 300])
        kind = rng.choice(["scores", "scores", "probabilities", "sets"])
        return "/v1/predict", {"texts": [_text(rng) for _ in range(n)], "kind": kind}

    def _misbehave(self, rng: random.Random) -> None:
        """Send something odd, in an odd manner; keep some connections open and forget them."""
        mutation = Mutation(raw.corpus(), raw.TOKENS)
        kept: list[socket.socket] = []
        for _ in range(200):
            if self._stop.is_set():
                break
            client = socket.create_connection(("127.0.0.1", self.port), timeout=10)
            manner = rng.choice(list(raw.MANNERS))
            with contextlib.suppress(ConnectionError):
                raw.MANNERS[manner](client, raw.drawn(rng, mutation))
            self.counts["odd requests"] += 1
            kept.append(client)
            if len(kept) > 40:
                kept.pop(0).close()
            time.sleep(0.02)
        for client in kept:
            client.close()

    def _probe(self, rng: random.Random) -> None:
        """Ask for its health, as a supervisor does."""
        begun = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read()
        connection.close()
        self.slowest_health = max(self.slowest_health, time.perf_counter() - begun)
        self.counts["health" if answer.status == 200 else f"health: {answer.status}"] += 1
        time.sleep(0.2)


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, 60)))
