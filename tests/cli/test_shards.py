"""Shards that lie on a file system of fsspec, as they do in a bucket: nothing of it is a path."""

from __future__ import annotations

import pytest

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def bucket(train_file):
    """Two shards in memory; the file system is empty afterwards."""
    system = fsspec.filesystem("memory")
    lines = train_file.read_text().splitlines(keepends=True)
    for i, part in enumerate((lines[:70], lines[70:])):
        system.pipe(f"/bucket/data/part-{i}.jsonl", "".join(part).encode())
    yield system
    system.rm("/bucket", recursive=True)


def test_train_predict_and_evaluate_in_a_bucket(cli, bucket, tmp_path, monkeypatch):
    monkeypatch.setenv("MULTITUDES_SCRATCH", str(tmp_path / "scratch"))
    monkeypatch.chdir(tmp_path)
    data, run, out = (f"memory://bucket/{name}" for name in ("data/*.jsonl", "run", "out"))
    trained = cli("train", data, "-o", "model", "-m", "xr-linear", "--checkpoint", run)
    assert trained.code == 0, trained.err
    assert bucket.find("/bucket/run") == []  # removed, as in a folder of this machine
    tagged = cli("predict", "model", data, "-o", out)
    assert tagged.code == 0, tagged.err
    assert f"2 shards tagged, written to {out}" in tagged.err
    assert len(bucket.glob("/bucket/out/part-*.jsonl")) == 2
    report = cli("evaluate", f"{out}/*.jsonl", data, "--json").json
    assert report["values"]["P@1"] > 0.8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "scratch"]
