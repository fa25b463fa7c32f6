"""A new version of a model is taken up while requests go on, and the old one let go."""

from __future__ import annotations

import gc
import logging
import shutil
import threading
import time
import weakref

import httpx
import pytest

pytest.importorskip("fastapi")

from multitudes import Tagger
from multitudes.data import make_catalogue
from multitudes.server import Limits, Models, running
from multitudes.server.processes import releasing
from multitudes.server.processes.folders import Folders, take_up, watched
from tests.server.serving import serving

TEXT = {"texts": ["a leather belt"], "top_k": 3}


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Folders of two models whose answers differ."""
    folder = tmp_path_factory.mktemp("versions")
    for seed in (1, 2):
        shop = make_catalogue(300, n_labels=20, random_state=seed).dataset
        Tagger("xr-linear", n_jobs=1).fit(shop).save(folder / f"{seed}")
    return folder


@pytest.fixture
def folder(versions, tmp_path):
    return shutil.copytree(versions / "1", tmp_path / "model")


def replace(folder, by):
    """Save another model in a folder, as `Tagger.save` does: its manifest comes last."""
    Tagger.load(by, in_memory=True).save(folder)


def wait_for(condition, seconds=10.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_what_is_changed(folder, versions):
    models = Models.read({"shop": folder})
    folders = Folders(models)
    assert folders.changed() == []
    replace(folder, versions / "1")  # the same again
    assert folders.changed() == []
    replace(folder, versions / "2")
    assert folders.changed() == ["shop"]
    assert folders.changed() == []  # said once
    (folder / "manifest.json").unlink()
    assert folders.changed() == []


def test_requests_go_on_while_a_new_version_is_taken_up(folder, versions):
    models = Models.read({"shop": folder})
    prepared = []
    models.prepare = prepared.append
    with serving(models, Limits(grace_seconds=1)) as served, watched(models, every=0.05):
        codes, answers, ended = [], [], threading.Event()

        def ask():
            with httpx.Client() as client:
                while not ended.is_set():
                    answer = client.post(f"{served.url}/v1/predict", json=TEXT)
                    codes.append(answer.status_code)
                    answers.append(answer.content)

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for one in asking:
            one.start()
        first = models.get().version
        wait_for(lambda: len(answers) > 20)
        replace(folder, versions / "2")
        wait_for(lambda: models.get().version != first)
        n = len(answers)
        wait_for(lambda: len(answers) > n + 20)
        ended.set()
        for one in asking:
            one.join()
        told = httpx.get(f"{served.url}/v1/models").json()["models"][0]["version"]
    assert set(codes) == {200}
    assert len(set(answers)) == 2
    assert answers[0] != answers[-1]
    assert told == models.get().version != first
    assert prepared == [models.get().tagger]


def test_the_old_one_is_let_go(folder, versions):
    models = Models.read({"shop": folder})
    with serving(models, Limits(grace_seconds=1)) as served:
        assert served.post("/v1/predict", TEXT).status_code == 200
        old = models.get().tagger
        parts = [old, old.model_, old.features_, *vars(old.model_).values()]
        held = [weakref.ref(one) for one in parts if type(one).__module__.startswith("multitudes")]
        assert len(held) > 4  # the tree and the search index too
        del old, parts
        gc.freeze()  # as `serve` does: what is in a circle would now stay for ever
        replace(folder, versions / "2")
        assert served.post("/v1/models/shop/reload", {}).status_code == 200
        assert served.post("/v1/predict", TEXT).status_code == 200
        gc.collect()
        found = [one() for one in held]
        gc.unfreeze()
        assert found == [None] * len(held)


def test_serve_itself_holds_no_model(folder, versions, monkeypatch):
    models = Models.read({"shop": folder})
    found = []

    def answer(app, listening, *, watch):
        old = weakref.ref(models.get().tagger)
        replace(folder, versions / "2")
        released = []
        models.release = lambda tagger: released.append(tagger is old())
        models.reload("shop")
        gc.collect()
        found.extend([old(), released])
        return True

    monkeypatch.setattr(running, "_answer", answer)
    assert running.serve(models, port=0, log="none")
    gc.unfreeze()
    assert found == [None, [True]]


def test_memory_is_given_back_when_the_last_request_ends(folder, monkeypatch):
    tagger, given_back = Tagger.load(folder), threading.Event()
    monkeypatch.setattr(releasing, "release", given_back.set)
    releasing.release_when_gone(tagger)
    assert not given_back.wait(0.2)
    del tagger
    assert given_back.wait(5)


@pytest.mark.parametrize("damage", ["cut", "gone", "garbage"])
def test_a_broken_version_is_refused_and_the_old_one_goes_on(folder, versions, damage, caplog):
    models = Models.read({"shop": folder})
    old, folders = models.get(), Folders(models)
    replace(folder, versions / "2")
    (words,) = folder.rglob("words.jsonl")
    if damage == "cut":
        words.write_bytes(words.read_bytes()[:100])
    elif damage == "gone":
        words.unlink()
    else:
        (folder / "manifest.json").write_bytes(b"{}")
    assert folders.changed() == ["shop"]
    with caplog.at_level(logging.INFO, "multitudes.server"):
        assert not take_up(models, "shop")
    assert models.get() is old
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "is not served, the one before goes on" in record.getMessage()
    assert folders.changed() == []
    shutil.rmtree(folder)
    replace(folder, versions / "2")
    assert folders.changed() == ["shop"]
    assert take_up(models, "shop")
