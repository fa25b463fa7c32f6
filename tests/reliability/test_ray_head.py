"""A Ray cluster that loses its head: an error of ours within seconds, and a fit that goes on."""

from __future__ import annotations

import os
import signal
import socket
import time

import numpy as np
import pytest

from multitudes import load
from multitudes.cli import main
from multitudes.engine.head import Head, parsed
from multitudes.errors import ResourceError
from multitudes.progress import shown

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
SECONDS = 40  # 8 on a quiet machine; Ray ends the process itself after 60


@pytest.fixture
def head(monkeypatch):
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    yield cluster
    cluster.shutdown()


def kill(cluster) -> None:
    """All of the head's processes, as if its machine were switched off."""
    for processes in cluster.head_node.all_processes.values():
        for one in processes:
            os.kill(one.process.pid, signal.SIGKILL)


def weights(folder) -> list[np.ndarray]:
    levels = load(folder).model_.levels_
    return [array for level in levels for array in level.to_state().arrays.values()]


def test_a_training_whose_head_is_killed_says_so_within_seconds_and_goes_on(
    head, tmp_path, monkeypatch, capsys
):
    import ray

    words = ["ash", "beech", "cedar", "elm", "fir", "oak", "pine", "yew"]
    lines = [f'{{"text": "{a} {b}", "labels": ["{a}", "{b}"]}}' for a in words for b in words]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    tree = ["--set", "max_leaf_size=2", "--set", "branching=2"]
    command = ["train", str(tmp_path / "train.jsonl"), "-q", "-m", "xr-linear", *tree]
    checkpoint = ["--checkpoint", str(tmp_path / "kept")]
    wait, killed = ray.wait, []

    def wait_and_kill(orders, **options):
        if not killed and list((tmp_path / "kept").glob("*/level-0")):  # the next is under way
            kill(head)
            killed.append(time.monotonic())
        return wait(orders, **options)

    monkeypatch.setattr(ray, "wait", wait_and_kill)
    with pytest.raises(SystemExit) as ended:
        main([*command, "-o", str(tmp_path / "model"), *checkpoint, "--ray", head.address])
    assert time.monotonic() - killed[0] < SECONDS
    assert ended.value.code == ResourceError.exit_code
    said = " ".join(capsys.readouterr().err.split())
    assert "the head of the Ray cluster is gone" in said
    assert "if the training was started with --checkpoint FOLDER" in said
    assert not ray.is_initialized()  # else Ray ends this process within a minute
    assert not (tmp_path / "model").exists()

    for name, more in (("model", checkpoint), ("alone", [])):
        with pytest.raises(SystemExit) as ended:
            main([*command, "-o", str(tmp_path / name), *more])
        assert not ended.value.code
    for ours, theirs in zip(weights(tmp_path / "model"), weights(tmp_path / "alone"), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_head_that_answers_is_there_and_one_that_stopped_is_not(listening, monkeypatch):
    monkeypatch.setattr("multitudes.engine.head.SECONDS_WITHOUT_HEAD", 0.1)
    address = listening.getsockname()
    head = Head([address], ours=False)
    head.check(at_once=True)
    listening.close()
    head.check()  # was looked at just now
    with pytest.raises(ResourceError, match=r"checkpoint='FOLDER'") as raised:
        head.check(at_once=True)
    assert head.lost
    assert "call ray.shutdown(), or Ray ends this process" in str(raised.value)
    with shown(in_flags=True), pytest.raises(ResourceError, match="--checkpoint FOLDER"):
        head.check(at_once=True)


def test_a_head_that_is_back_in_time_was_not_missed(listening, monkeypatch):
    address = listening.getsockname()
    head = Head([address], ours=True)
    listening.close()
    calls = []

    def come_back(_seconds):
        calls.append(socket.create_server(address))

    monkeypatch.setattr("multitudes.engine.head.time.sleep", come_back)
    head.check(at_once=True)
    calls[0].close()
    assert len(calls) == 1
    assert not head.lost


def test_a_head_that_cannot_be_reached_from_here_is_not_looked_after(listening):
    address = listening.getsockname()
    listening.close()
    Head([address], ours=True).check(at_once=True)


def test_addresses_are_those_of_ray():
    assert parsed("ray://host:10001") == ("host", 10001)
    assert parsed("[::1]:6379") == ("::1", 6379)
