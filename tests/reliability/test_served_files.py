"""A served model whose files are cut, deleted or overwritten is served on; signals end it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest

pytest.importorskip("fastapi")

from tests.server.serving import request

HALF_SENT = request(b'{"texts":', b"content-length: 1000")


@pytest.fixture(scope="module")
def model(shop_tagger, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "model"
    shop_tagger.save(folder)
    return folder


@contextmanager
def process(model):
    """A server in a process of its own, and its port."""
    command = [sys.executable, "-m", "multitudes", "serve", model, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            said = iter(running.stderr)
            address = next(filter(None, (re.search(r"http://127\S+:(\d+)", line) for line in said)))
            yield running, int(address[1])
        finally:
            running.kill()


def cut(folder):
    for path in files(folder):
        os.truncate(path, 0)


def overwrite(folder):
    for path in files(folder):
        path.write_bytes(b"\xff" * path.stat().st_size)  # in place, where it would be mapped


def files(folder):
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert found
    return found


def test_files_may_be_cut_deleted_and_overwritten_and_a_second_signal_ends_at_once(model, tmp_path):
    folder = tmp_path / "model"
    asked = {"text": "a leather belt", "label": "belt"}
    with process(shutil.copytree(model, folder)) as (running, port):
        url = f"http://127.0.0.1:{port}"
        first = httpx.post(f"{url}/v1/explain", json=asked).json()
        for damage in (cut, overwrite, shutil.rmtree):
            if damage is overwrite:
                shutil.copytree(model, folder, dirs_exist_ok=True)
            damage(folder)
            assert httpx.post(f"{url}/v1/explain", json=asked).json() == first
            answer = httpx.post(f"{url}/v1/predict", json={"texts": ["a leather belt"]})
            assert answer.status_code == 200
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(HALF_SENT)
            time.sleep(0.2)
            running.terminate()
            time.sleep(0.3)
            assert running.poll() is None  # it waits for the rest
            running.terminate()
            assert running.wait(5) == 128 + signal.SIGTERM
