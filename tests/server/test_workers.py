"""Several processes answer as one server: they share models and an end, and are replaced."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi")
if not hasattr(os, "fork"):
    pytest.skip("the system cannot fork", allow_module_level=True)

from multitudes import Tagger
from multitudes.data import make_catalogue
from multitudes.errors import ConfigError
from multitudes.server.processes.workers import check_forkable, own_socket
from multitudes.server.running import bound
from tests.server.serving import request

TEXTS = {"texts": ["a leather belt"], "top_k": 3}


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Another version of the model."""
    shop = make_catalogue(300, n_labels=20, random_state=2).dataset
    return Tagger("xr-linear", n_jobs=1).fit(shop)


@pytest.fixture
def folder(shop_tagger, tmp_path):
    shop_tagger.save(tmp_path / "model")
    return tmp_path / "model"


@contextmanager
def process(folder, *options):
    """A server with two workers, its address, and what it has said."""
    command = [sys.executable, "-m", "multitudes", "serve", folder, "--port", "0", *options]
    with subprocess.Popen(
        [*command, "--workers", "2"], stderr=subprocess.PIPE, text=True
    ) as running:
        said = []

        def listen():
            with suppress(ValueError):  # closed
                said.extend(running.stderr)

        try:
            for line in running.stderr:
                said.append(line)
                if found := re.search(r"http://127\S+:\d+", line):
                    break
            threading.Thread(target=listen, daemon=True).start()
            yield running, found[0], said
        finally:
            running.kill()


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def answers_of(url, n):
    """Answers over a connection each, so that all workers are asked."""
    return [httpx.post(f"{url}/v1/predict", json=TEXTS) for _ in range(n)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_workers_answer_are_replaced_reload_and_end(folder, other):
    with process(folder, "--log", "text") as (running, url, said):
        first = children(running.pid)
        assert len(first) == 2
        before = {answer.content for answer in answers_of(url, 20)}
        assert len(before) == 1

        # All count for all.
        counted = httpx.get(f"{url}/metrics").text
        assert re.search(r"multitudes_batch_texts_sum 2[01]\.0", counted)

        # One that dies is replaced.
        os.kill(first[0], signal.SIGKILL)
        wait_for(lambda: len(children(running.pid)) == 2 and first[0] not in children(running.pid))
        wait_for(lambda: any("ended with signal 9" in line for line in said))
        assert {answer.content for answer in answers_of(url, 20)} == before

        # A new version reaches all of them, whoever is asked.
        old = children(running.pid)
        other.save(folder)
        told = httpx.post(f"{url}/v1/models/model/reload", timeout=30)
        assert told.status_code == 200
        assert told.json()["n_labels"] == len(other.classes_)
        after = {answer.content for answer in answers_of(url, 20)}
        assert len(after) == 1
        assert after != before
        wait_for(lambda: len(children(running.pid)) == 2)
        assert not set(old) & set(children(running.pid))

        # A broken one is refused.
        for path in folder.rglob("words.jsonl"):
            path.write_bytes(b"")
        (folder / "manifest.json").write_bytes(b"{}")
        refused = httpx.post(f"{url}/v1/models/model/reload", timeout=30)
        assert refused.status_code == 400
        assert "is not the manifest of a multitudes model" in refused.json()["error"]
        assert {answer.content for answer in answers_of(url, 5)} == after

        # Told to end, they answer all that was asked.
        workers = children(running.pid)
        assert not lost_in_the_end(running, int(url.rpartition(":")[2]))
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def lost_in_the_end(running, port):
    """Requests without an answer when a server is told to end while many are asking."""
    lost, answered = [], []

    def ask():
        while True:
            try:
                client = socket.create_connection(("127.0.0.1", port), timeout=10)
            except OSError:
                return  # refused, and nothing was asked
            with client:
                received = b""
                while b"connection: close" not in received:
                    client.sendall(request(b'{"texts": ["a leather belt"]}'))
                    received = client.recv(65536)
                    (answered if received.startswith(b"HTTP/1.1 200") else lost).append(received)
                    if not received:
                        return

    asking = [threading.Thread(target=ask) for _ in range(8)]
    for one in asking:
        one.start()
    wait_for(lambda: len(answered) > 100)
    running.terminate()
    assert running.wait(15) == 0
    for one in asking:
        one.join(20)
    return lost


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_workers_do_not_outlive_their_parent(folder):
    with process(folder, "--quiet") as (running, url, _):
        workers = children(running.pid)
        assert httpx.get(f"{url}/health").status_code == 200
        running.kill()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")


def test_models_that_use_torch_have_one_worker(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    check_forkable()
    monkeypatch.setitem(sys.modules, "torch", sys)
    with pytest.raises(ConfigError, match="is served by one worker"):
        check_forkable()


def test_an_address_in_use_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen at 127.0.0.1, port {port}"):
            bound("127.0.0.1", port, shared=True)


def test_several_processes_listen_at_one_address():
    with bound("127.0.0.1", 0, shared=True) as held:
        one, other = own_socket(held.dup()), own_socket(held.dup())
        with one, other:
            assert one.getsockname() == other.getsockname() == held.getsockname()
