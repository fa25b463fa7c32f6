"""A server in a process of its own, asked and stopped."""

from __future__ import annotations

import hashlib
import io
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("fastapi")

from multitudes import Tagger
from multitudes.data.predictions.corrections import Correction

KEY = "correct-horse-battery-staple"
HALF_SENT = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{"


def test_serves_until_it_is_stopped_whatever_clients_do(model):
    command = [sys.executable, "-m", "multitudes", "serve", str(model), "--port", "0"]
    command += ["--grace-seconds", "0.5"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", line).group()
        body = json.dumps({"texts": ["a leather belt"], "top_k": 1}).encode()
        request = urllib.request.Request(
            f"{url}/v1/predict", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert found["predictions"][0]["labels"][0]["label"] == "belts"
        port = int(url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(HALF_SENT)
            process.send_signal(signal.SIGTERM)
            _, rest = process.communicate(timeout=20)
        assert process.returncode == 0
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
    result = cli("serve", model, "--host", "no.such.host.invalid", "--open")
    assert result.code == 2
    assert "cannot listen at no.such.host.invalid" in result.err


def test_a_number_format_that_the_model_has_not(cli, model):
    result = cli("serve", model, "--precision", "bf16")
    assert result.code == 2
    assert "computes in float32 alone, got precision 'bf16'" in result.err


def test_a_model_that_is_missing(cli, tmp_path):
    assert cli("serve", tmp_path / "nothing").code == 4


def test_a_public_address_needs_keys(cli, model, monkeypatch):
    monkeypatch.delenv("MULTITUDES_KEYS", raising=False)
    result = cli("serve", model, "--host", "0.0.0.0")
    assert result.code == 2
    assert "0.0.0.0 can be reached from other machines, and no key is asked for" in result.err


def test_lines_of_keys(cli, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    result = cli("serve", "--hash-key")
    assert (result.code, result.out) == (0, f"sha256:{hashlib.sha256(KEY.encode()).hexdigest()}\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    made = cli("serve", "--hash-key")
    key = made.err.split()[-1]
    assert made.out.strip() == f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"
    assert len(key) > 40
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret\n"))
    assert "16 to 1,000 characters" in cli("serve", "--hash-key").err


def test_what_a_server_kept_is_learned_the_last_of_each_text(cli, model, tmp_path):
    said = [
        Correction("velvet ribbon", added=("ribbons",)),
        Correction("velvet ribbon", accepted=("belts",), rejected=("ribbons",)),
        Correction("silver teaspoon", added=("spoons",), rejected=("belts",)),
        Correction("nothing of that", rejected=("belts",)),
    ]
    path = tmp_path / "corrections.jsonl"
    path.write_bytes(b"".join(one.line() for one in said))
    result = cli("update", model, path, "-o", tmp_path / "updated", "--json")
    assert result.code == 0, result.err
    assert "3 texts, of 4 corrections" in result.err
    assert result.json["labels_added"] == ["spoons"]
    assert result.json["n_instances"] == 2  # the last one has no label
    assert set(Tagger.load(tmp_path / "updated").classes_) == {
        *Tagger.load(model).classes_,
        "spoons",
    }
