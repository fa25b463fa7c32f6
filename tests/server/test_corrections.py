"""Corrections: on the disk before the answer, whole after a kill, learned by ``update``."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from multitudes.data import read_dataset
from multitudes.data.predictions.corrections import Correction, is_corrections, latest
from multitudes.errors import ConfigError
from multitudes.files import lease
from multitudes.server import Limits, make_app
from multitudes.server import corrections as module
from multitudes.server.corrections import Corrections

GIVEN = {"text": "a belt", "accepted": ["belt"], "rejected": ["tie"], "added": ["braces"]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "corrections.jsonl"


@pytest.fixture
def client(shop_tagger, path):
    return TestClient(make_app(shop_tagger, corrections=path), raise_server_exceptions=False)


def test_what_was_sent_is_kept_listed_and_exported(client, path):
    answer = client.post("/v1/corrections", json=GIVEN)
    assert answer.status_code == 201
    (line,) = path.read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert {name: kept[name] for name in GIVEN} == GIVEN
    assert kept["labels"] == ["belt", "braces"]
    assert (kept["model"], kept["version"]) == ("model", "unsaved")
    found = client.get("/v1/corrections").json()
    assert found == {"corrections": [{"id": 0, **kept}], "after": None, "total": 1}
    exported = client.get("/v1/corrections/export")
    assert exported.content == path.read_bytes()
    assert exported.headers["content-type"] == "application/x-ndjson"


def test_pages(client):
    ids = [
        client.post("/v1/corrections", json=GIVEN | {"uid": str(n)}).json()["id"] for n in range(7)
    ]
    assert ids == sorted(set(ids))

    def page(**query):
        found = client.get("/v1/corrections", params=query).json()
        assert found["total"] == 7
        return [int(one["uid"]) for one in found["corrections"]], found["after"]

    assert page(limit=3) == ([0, 1, 2], ids[2])
    assert page(limit=3, after=ids[2]) == ([3, 4, 5], ids[5])
    assert page(limit=3, after=ids[5]) == ([6], None)
    assert page(after=ids[6]) == ([], None)
    assert page(limit=2, newest=True) == ([5, 6], None)
    assert page(limit=50, newest=True) == (list(range(7)), None)
    answer = client.get("/v1/corrections", params={"after": ids[2] + 1})
    assert answer.status_code == 400
    assert "no correction with the id" in answer.json()["error"]


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"rejected": ["belt"]}, "the request: Value error, the label 'belt' is both right and"),
        ({"added": [""]}, "added.0: String should have at least 1 character"),
        ({"text": ""}, "text: String should have at least 1 character"),
        ({"added": "braces"}, "added: Input should be a valid list"),
        ({"labels": ["belt"]}, "labels: Extra inputs are not permitted"),
        ({"uid": 7}, "uid: Input should be a valid string"),
    ],
)
def test_what_is_no_correction(client, path, changed, error):
    answer = client.post("/v1/corrections", json=GIVEN | changed)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(error)
    assert path.read_bytes() == b""


def test_off_unless_asked_for(shop_tagger):
    client = TestClient(make_app(shop_tagger))
    for answer in (client.post("/v1/corrections", json=GIVEN), client.get("/v1/corrections"),
                   client.get("/v1/corrections/export")):  # fmt: skip
        assert answer.status_code == 404
        assert "--corrections FILE" in answer.json()["error"]


def test_a_full_file_takes_no_more(shop_tagger, path):
    client = TestClient(make_app(shop_tagger, corrections=path, limits=Limits(max_corrections=500)))
    codes = [client.post("/v1/corrections", json=GIVEN).status_code for _ in range(4)]
    assert codes[0] == 201
    assert codes[-1] == 507
    assert path.stat().st_size <= 500
    assert client.get("/v1/corrections").json()["total"] == codes.count(201)


def test_a_full_disk_is_told_and_leaves_whole_lines(client, path, monkeypatch):
    assert client.post("/v1/corrections", json=GIVEN).status_code == 201
    before = path.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(module.os, "fsync", full)
        answer = client.post("/v1/corrections", json=GIVEN)
    assert answer.status_code == 507
    assert answer.json() == {"error": "the correction was not kept: No space left on device"}
    assert path.read_bytes() == before
    assert client.post("/v1/corrections", json=GIVEN).status_code == 201


def test_half_a_line_is_set_aside(path):
    kept = Corrections(path)
    kept.append(Correction("one"))
    with path.open("ab") as file:
        file.write(b'{"text": "tw')
    assert Corrections(path).page().total == 1  # at the next start
    with path.open("ab") as file:
        file.write(b'{"text": "thr')
    kept.append(Correction("four"))  # and while others live
    assert [one["text"] for one in kept.page().corrections] == ["one", "four"]
    aside = path.with_name(path.name + ".torn").read_bytes()
    assert aside == b'{"text": "tw\n{"text": "thr\n'


WRITER = """
import sys
from multitudes.data.predictions.corrections import Correction
from multitudes.server.corrections import Corrections
kept, n = Corrections(sys.argv[1]), 0
while True:
    kept.append(Correction("x" * 50_000, uid=f"{sys.argv[2]} {n}"))
    print(n, flush=True)
    n += 1
"""


def test_nothing_that_was_answered_is_lost_when_writers_are_killed(path):
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [
        subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True) for n in range(2)
    ]
    for writer in writers:  # both write at the same time
        for _ in range(20):
            writer.stdout.readline()
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
    answered = [writer.communicate()[0].split() for writer in writers]
    kept = {json.loads(line)["uid"] for line in b"".join(Corrections(path).export()).splitlines()}
    for n, told in enumerate(answered):
        assert {f"{n} {number}" for number in told} <= kept
        assert f"{n} 19" in kept


def test_threads_of_a_server_take_turns(path):
    kept = Corrections(path)
    threads = [
        threading.Thread(
            target=lambda n=n: [
                kept.append(Correction("x" * 9999, uid=f"{n} {i}")) for i in range(5)
            ]
        )
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one["uid"] for one in kept.page().corrections}) == 30


def test_who_writes_is_named(path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    ready, done = threading.Event(), threading.Event()

    def hold():
        with lease.held(lease.beside(path)):
            ready.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait(10)
    with pytest.raises(ConfigError, match=r"this process \(\d+\) itself has been writing"):
        Corrections(path)
    done.set()
    thread.join()


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(ConfigError, match="corrections cannot be kept in"):
        Corrections(tmp_path / "missing" / "corrections.jsonl")


def test_the_last_correction_of_a_text_counts(path):
    said = [
        Correction("one", accepted=("a",), rejected=("z",)),
        Correction("two", accepted=("b",), uid="7"),
        Correction("one", added=("c",)),
        Correction("two, rewritten", accepted=("d",), uid="7"),
    ]
    path.write_bytes(b"".join(one.line() for one in said))
    assert is_corrections(path)
    found = latest(read_dataset(path))
    assert list(found.texts) == ["one", "two, rewritten"]
    assert [found.labels_of(row) for row in range(2)] == [["c"], ["d"]]
