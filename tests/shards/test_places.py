from pathlib import Path

import pytest

from multitudes.errors import ConfigError, DataError
from multitudes.shards.places import as_place, exists, find_shards, local_copy, names_shards, put
from multitudes.shards.run import Run, cut_strings, joined_strings


def test_files_folders_patterns_and_urls(tmp_path):
    for name in ("b.jsonl", "a.jsonl", ".hidden", "_run.json", "c.txt"):
        (tmp_path / name).touch()
    names = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert find_shards(tmp_path / "*.jsonl") == names
    assert find_shards([tmp_path / "b.jsonl", tmp_path / "a.jsonl"]) == names[::-1]
    assert find_shards(tmp_path) == [*names, str(tmp_path / "c.txt")]
    assert find_shards(f"file://{tmp_path}/*.jsonl") == [f"file://{name}" for name in names]
    assert find_shards(f"file://{tmp_path}/a.jsonl") == [f"file://{names[0]}"]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nowhere.jsonl", "the shard .*nowhere.jsonl does not exist"),
        ("*.jsonl", "holds no file"),
        ([], "there are no shards"),
        ("nosuch://bucket/x", "cannot be read .*nosuch.*: check the address"),
    ],
)
def test_what_is_not_there_is_said(place, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=said):
        find_shards(place)


def test_urls_survive_pathlib():
    assert as_place(Path("s3://bucket/x*.jsonl")) == "s3://bucket/x*.jsonl"
    assert as_place(Path("file:///tmp/x")) == "file:///tmp/x"
    assert as_place("C:/data") == "C:/data"
    assert names_shards("s3://bucket/x")
    assert not names_shards("train.jsonl")


def test_a_url_is_copied_once_and_again_when_it_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTITUDES_SCRATCH", str(tmp_path / "scratch"))
    url = f"file://{tmp_path}/x.jsonl"
    (tmp_path / "x.jsonl").write_text("one")
    first = local_copy(url)
    assert first.name.endswith("-x.jsonl")
    assert local_copy(url) == first
    (tmp_path / "x.jsonl").write_text("another")
    assert local_copy(url).read_text() == "another"
    with pytest.raises(DataError, match="cannot be read"):
        local_copy(f"file://{tmp_path}/missing.jsonl")
    (tmp_path / "made").write_text("made")
    put(tmp_path / "made", f"file://{tmp_path}/deep/made")
    assert exists(f"file://{tmp_path}/deep/made")
    assert not exists(f"file://{tmp_path}/made")


def test_a_run_is_that_of_its_data_and_settings(tmp_path):
    run = Run.open(tmp_path / "run", {"shards": ["a"], "branching": 16})
    assert Run.open(tmp_path / "run", {"shards": ["a"], "branching": 16}) == run
    with pytest.raises(ConfigError, match=r"holds another run \(branching differ\)"):
        Run.open(tmp_path / "run", {"shards": ["a"], "branching": 8})


def test_strings_as_arrays():
    texts = ["", "ä", "ab", "\ud800"]
    assert cut_strings(*joined_strings(texts)) == texts
    assert cut_strings(*joined_strings([])) == []
