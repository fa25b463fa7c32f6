"""Shards on clusters of 1, 2 and 4 Ray nodes of one core, played by processes of this machine."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from multitudes.data import read_dataset
from multitudes.engine import current_cluster, ray_cluster
from multitudes.engine.cluster import in_use
from multitudes.errors import DataError, ResourceError, StoreError
from multitudes.shards import evaluate_shards, levels, predict_shards, tag_dataset, train_shards
from multitudes.shards.counting import COUNTING, Source
from multitudes.shards.levels import train_clusters
from multitudes.shards.run import Run, Stage
from multitudes.tagger import Tagger, evaluate_dataset

from .test_training import SETTINGS, assert_same

PATH = os.pathsep.join(str(Path(__file__).parents[i]) for i in (1, 2))
NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", PATH)  # workers import this file
        patch.setenv("MULTITUDES_SCRATCH", str(tmp_path_factory.mktemp("scratch")))
        patch.setenv("RAY_health_check_period_ms", "300")  # a machine that died is missed soon
        patch.setenv("RAY_health_check_failure_threshold", "2")
        cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def cluster(machines):
    with ray_cluster(machines.address):
        yield current_cluster()


def tagger():
    return Tagger("xr-linear", settings=SETTINGS)


@pytest.fixture
def expected(shards, tmp_path):
    with in_use(None):
        tagger().fit(read_dataset(tmp_path / "whole.jsonl")).save(tmp_path / "one")
    return tmp_path / "one"


def test_one_two_and_four_nodes_make_the_same_model(cluster, machines, shards, expected, tmp_path):
    for nodes in (1, 2, 4):
        while len(machines.list_all_nodes()) < nodes:
            machines.add_node(**NODE)
        train_shards(tagger(), shards, tmp_path / f"{nodes}", run=tmp_path / f"run-{nodes}")
        assert_same(expected, tmp_path / f"{nodes}")


def test_shards_and_run_at_a_url(cluster, shards, expected, tmp_path):
    run = f"file://{tmp_path}/run"
    train_shards(tagger(), f"file://{shards}/*.jsonl", tmp_path / "model", run=run)
    assert_same(expected, tmp_path / "model")


def test_predictions_metrics_and_ray_data(cluster, shards, expected, tmp_path):
    import ray

    whole = read_dataset(tmp_path / "whole.jsonl")
    predict_shards(expected, shards, tmp_path / "found")
    report = evaluate_shards(tmp_path / "found", shards, run=tmp_path / "measured")
    assert report.values == evaluate_dataset(Tagger.load(expected), whole).values
    few = ray.data.from_items([{"text": text} for text in whole.texts[:20]])
    rows = tag_dataset(few, expected, top_k=2).take_all()
    tags = Tagger.load(expected).predict(whole.texts[:20], top_k=2)
    by_text = {row["text"]: list(row["predicted"]) for row in rows}
    assert by_text == {
        text: [tag.label for tag in own] for text, own in zip(whole.texts, tags, strict=False)
    }


def slow(run, work, item):
    time.sleep(0.05)
    return train_clusters(run, work, item)


def dies_once(run, work, item):
    place = Path(run.folder) / "died"
    if not place.exists():
        place.touch()
        os._exit(1)
    return train_clusters(run, work, item)


def dies(run, work, item):
    os._exit(1)


def test_a_worker_that_dies(cluster, shards, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(levels, "RANKERS", Stage("rankers", "training", dies_once))
    train_shards(tagger(), shards, tmp_path / "model", run=tmp_path / "run")
    assert (tmp_path / "run" / "died").exists()
    assert_same(expected, tmp_path / "model")


def test_a_worker_that_dies_too_often(cluster, tmp_path):
    run = Run.open(tmp_path / "run", {})
    with pytest.raises(ResourceError, match="died 4 times at the same piece of work"):
        run.map(cluster, Stage("x", "dying", dies), None, [1], costs=[1.0])


def test_a_machine_that_dies(cluster, machines, shards, expected, tmp_path, monkeypatch):
    node = machines.worker_nodes.copy().pop()
    monkeypatch.setattr(levels, "RANKERS", Stage("rankers", "training", slow))

    def kill():
        while not list((tmp_path / "run").glob("rankers/*")):
            time.sleep(0.01)
        machines.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    train_shards(tagger(), shards, tmp_path / "model", run=tmp_path / "run")
    killer.join()
    assert_same(expected, tmp_path / "model")


DRIVER = """
import os, signal, sys
from multitudes.engine import ray_cluster
from multitudes.shards import train_shards
from multitudes.shards.run import Run
from shards.test_on_ray import tagger
plain = Run.grow
def grown(run, cluster, stage, *rest, **more):
    if stage.name == "rankers":
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(run, cluster, stage, *rest, **more)
Run.grow = grown
with ray_cluster(sys.argv[1]):
    train_shards(tagger(), *sys.argv[2:4], run=sys.argv[4])
"""


def test_a_driver_that_was_killed(cluster, machines, shards, expected, tmp_path):
    run, model = tmp_path / "run", tmp_path / "model"
    command = [sys.executable, "-c", DRIVER, machines.address, shards, model, run]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": PATH}, check=False)
    assert ended.returncode < 0
    assert not model.exists()
    before = {file: file.stat().st_mtime_ns for file in run.glob("*/*.safetensors")}
    assert {file.parent.name for file in before} >= {"counts", "pieces", "embeddings", "tree"}
    train_shards(tagger(), shards, model, run=run)
    assert_same(expected, model)
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())


def test_errors_of_machines_say_what_is_wrong(cluster, shards, tmp_path):
    (shards / "part-9.jsonl").write_text("{nonsense\n")
    with pytest.raises(DataError, match=r"part-9\.jsonl:1"):
        train_shards(tagger(), shards, tmp_path / "model", run=tmp_path / "run")
    run = Run("/proc/nowhere", "")
    source = Source(None, {}, None, normalize=False)
    with pytest.raises(StoreError, match="could not write to /proc/nowhere"):
        run.map(cluster, COUNTING._replace(compute=nothing), source, [1], costs=[1.0])


def nothing(run, shared, item):
    return {}
