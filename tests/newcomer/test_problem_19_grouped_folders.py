"""Problem 19: ``group -o grouped`` made a folder that ``train grouped`` did not take."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitudes.data import read_dataset
from tests.cli.conftest import records, write_lines


@pytest.fixture
def grouped(cli, tmp_path: Path) -> Path:
    write_lines(tmp_path / "train.jsonl", records(80))
    folder = tmp_path / "grouped"
    assert cli("group", tmp_path / "train.jsonl", "--random", 4, "-o", folder, "-q").code == 0
    return folder


def test_the_folder_is_learned_from(cli, tmp_path: Path, grouped: Path) -> None:
    result = cli("train", grouped, "-o", tmp_path / "model")
    assert result.code == 0
    assert "labels: those of groups" in result.err
    assert "20 groups" in result.err
    by_hand = cli(
        "train", grouped / "instances.jsonl", "--groups", grouped / "groups.jsonl",
        "-o", tmp_path / "same",
    )  # fmt: skip
    assert by_hand.code == 0
    text = ["--text", "leather buckle", "--json"]
    assert (
        cli("predict", tmp_path / "model", *text).json
        == cli("predict", tmp_path / "same", *text).json
    )


def test_validation_needs_own_labels_as_with_groups(cli, tmp_path: Path, grouped: Path) -> None:
    result = cli("train", grouped, "-o", tmp_path / "model", "--validation", 0.2)
    assert result.code == 2
    assert "--validation needs instances whose own labels are known" in result.err


def test_the_instances_alone_say_what_is_missing(cli, tmp_path: Path, grouped: Path) -> None:
    result = cli("train", grouped / "instances.jsonl", "-o", tmp_path / "model")
    assert result.code == 3
    assert "its instances name 20 groups" in result.err
    assert "name it with --groups FILE" in result.err


def test_python_reads_the_folder_too(grouped: Path) -> None:
    dataset = read_dataset(grouped)
    assert dataset.group_labels is not None
    assert dataset.group_labels.shape == (20, dataset.n_labels)
    assert len(dataset) == 80
