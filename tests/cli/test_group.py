from __future__ import annotations

import json
from pathlib import Path

import pytest


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_random_groups_of_texts(cli, train_file, tmp_path):
    result = cli("group", train_file, "--random", 4, "-o", tmp_path / "g", "--seed", 1)
    assert result.code == 0
    assert f"30 groups, written to {tmp_path / 'g'}" in result.err
    original, instances = lines(train_file), lines(tmp_path / "g" / "instances.jsonl")
    assert [r["text"] for r in instances] == [r["text"] for r in original]
    assert all("labels" not in record for record in instances)
    members = {}
    for record, source in zip(instances, original, strict=True):
        members.setdefault(record["group"][0], []).extend(source["labels"])
    groups = {record["group"]: record["labels"] for record in lines(tmp_path / "g/groups.jsonl")}
    assert len(groups) == 30
    assert {g: sorted(labels) for g, labels in groups.items()} == {
        g: sorted(labels) for g, labels in members.items()
    }
    assert not (tmp_path / "g" / "known.jsonl").exists()


def test_labels_can_be_kept_and_listed_once(cli, train_file, tmp_path):
    result = cli(
        "group", train_file, "--random", 6, "-o", tmp_path, "--keep-labels", "--as-set", "-q"
    )
    assert (result.code, result.err, result.out) == (0, "", "")
    known = lines(tmp_path / "known.jsonl")
    assert [sorted(r["labels"]) for r in known] == [r["labels"] for r in lines(train_file)]
    assert [r["group"] for r in known] == [r["group"] for r in lines(tmp_path / "instances.jsonl")]
    for record in lines(tmp_path / "groups.jsonl"):
        assert len(record["labels"]) == len(set(record["labels"]))


def test_clusters_are_more_alike_than_chance(cli, train_file):
    prices = [
        cli("group", train_file, *way, "--diagnose", "--json", "-q").json["price"]
        for way in (["--clusters", 4], ["--clusters", 4, "--noise", 1], ["--random", 8])
    ]
    assert prices[0] < 0.7 * min(prices[1:])


def test_diagnosis_of_groups_that_exist(cli, tmp_path):
    (tmp_path / "data.jsonl").write_text(
        '{"text": "red hat", "group": "a"}\n{"text": "red shoe", "group": "a"}\n'
        '{"text": "blue hat", "group": "b"}\n{"text": "blue coat", "group": "b"}\n'
        '{"text": "lost", "group": []}\n'
    )
    (tmp_path / "groups.jsonl").write_text(
        '{"group": "a", "labels": ["hat", "red", "red"]}\n{"group": "b", "labels": []}\n'
        '{"group": "c", "labels": ["hat"]}\n'
    )
    result = cli(
        "group", tmp_path / "data.jsonl", "--groups", tmp_path / "groups.jsonl", "--diagnose"
    )
    assert result.code == 0
    assert "3 groups of 2.0 instances" in result.out
    assert "instances in no group, from which nothing is learned: 1" in result.out
    assert "groups without instances: 1" in result.out
    assert "labels lost because their group has no instances: 1" in result.out
    assert "groups without labels, whose instances count as having none: 1" in result.out
    assert "price of not assigning labels" in result.out


def test_features_are_grouped_too(cli, tmp_path):
    (tmp_path / "data.txt").write_text("4 3 2\n0 0:1\n1 1:1\n0 2:1\n0,1 0:1 1:1\n")
    out = tmp_path / "out"
    assert cli("group", tmp_path / "data.txt", "--random", 2, "-o", out, "-q").code == 0
    result = cli(
        "group", out / "instances.npz", "--groups", out / "groups.jsonl", "--diagnose", "--json",
        "--read", f"instance_groups={out / 'instance_groups.jsonl'}",
    )  # fmt: skip
    assert result.json["memberships"] == 4
    assert result.json["listed"] >= 3


def test_groups_that_were_there_are_replaced_and_that_is_said(cli, tmp_path):
    source = tmp_path / "data.jsonl"
    source.write_text('{"text": "a", "labels": ["x"], "group": "g"}\n' * 2)
    result = cli("group", source, "--random", 1, "-o", tmp_path / "out")
    assert "the 1 groups of the data are replaced" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of --random SIZE, --clusters DEPTH and --groups FILE"),
        (["--random", 2, "--clusters", 2], "one of --random"),
        (["--random", 2, "--noise", 0.5], "--noise is for --clusters"),
        (["--random", 2], "-o FOLDER, or a question, --diagnose"),
        (["--groups", "g.jsonl", "-o", "out"], "grouped already"),
        (["--clusters", 2, "--noise", 1.5, "--diagnose"], "noise must be a number from 0 to 1"),
        (["--clusters", 9, "--diagnose"], "depth must be at most 6"),
    ],
)
def test_options_that_do_not_go_together(cli, train_file, arguments, message):
    result = cli("group", train_file, *arguments)
    assert result.code == 2
    assert message in result.err


def test_data_without_groups_has_nothing_to_diagnose(cli, tmp_path):
    groups, data = tmp_path / "groups.jsonl", tmp_path / "data.jsonl"
    groups.write_text('{"group": "a", "labels": ["fish"]}\n')
    data.write_text('{"text": "a"}\n{"text": "b"}\n')
    result = cli("group", data, "--groups", groups, "--diagnose")
    assert result.code == 3
    assert "no instance names a group" in result.err


def test_data_without_labels_has_nothing_to_give(cli, tmp_path):
    (tmp_path / "data.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    result = cli("group", tmp_path / "data.jsonl", "--random", 1, "-o", tmp_path / "out")
    assert result.code == 3
    assert "data.jsonl has no labels (it has ['text'])" in result.err


@pytest.mark.parametrize("name", ["instances.jsonl", "groups.jsonl", "instances.npz", "instances"])
def test_data_is_not_written_over(cli, tmp_path, name):
    (tmp_path / "x.txt").write_text("0 0:1.0\n1 1:1.0\n")
    if "json" in name:
        (tmp_path / name).write_text('{"text": "a", "labels": ["x"]}\n')
    else:
        pair = tmp_path / "instances.npz"
        assert cli("convert", tmp_path / "x.txt", pair, "-f", "sparse-text").code == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = cli("group", tmp_path / name, "--random", 1, "-o", tmp_path)
    assert result.code == 2
    assert "would be written over the data" in result.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
