"""A server in a process of its own, asked and stopped."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("fastapi")


def test_serves_until_it_is_interrupted(model):
    command = [sys.executable, "-m", "multitudes", "serve", str(model), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", line).group()
        body = json.dumps({"texts": ["a leather belt"], "top_k": 1}).encode()
        request = urllib.request.Request(
            f"{url}/predict", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert found["predictions"][0]["labels"][0]["label"] == "belts"
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
        assert "Traceback" not in rest
    finally:
        process.kill()


def test_a_taken_port_is_named(cli, model):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = cli("serve", model, "--port", port)
    assert result.code == 2
    assert f"cannot listen at 127.0.0.1, port {port}" in result.err


def test_an_address_that_is_none(cli, model):
    result = cli("serve", model, "--host", "no.such.host.invalid")
    assert result.code == 2
    assert "cannot listen at no.such.host.invalid" in result.err


def test_a_number_format_that_the_model_has_not(cli, model):
    result = cli("serve", model, "--precision", "bf16")
    assert result.code == 2
    assert "computes in float32 alone, got precision 'bf16'" in result.err


def test_a_model_that_is_missing(cli, tmp_path):
    assert cli("serve", tmp_path / "nothing").code == 4
