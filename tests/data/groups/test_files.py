"""Groups of instances, and the file with their labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitudes.data import ReadOptions, WriteOptions, read_dataset, write_dataset
from multitudes.errors import DataError


@pytest.fixture
def instances(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text(
        '{"text": "a", "group": "g1"}\n{"text": "b", "group": ["g2", "g1"]}\n{"text": "c"}\n'
    )
    return path


def options(tmp_path: Path, content: str, **settings: str) -> ReadOptions:
    path = tmp_path / "groups.jsonl"
    path.write_text(content)
    return ReadOptions(group_labels=str(path), **settings)  # type: ignore[arg-type]


GROUPS = (
    '{"group": "g2", "labels": ["x"]}\n'
    '{"group": "g1", "labels": ["y", "x", "y"]}\n'
    '{"group": "g3", "labels": []}\n'
)


def test_a_repeated_label_counts_twice(instances: Path, tmp_path: Path) -> None:
    dataset = read_dataset(instances, options=options(tmp_path, GROUPS))
    assert dataset.group_names == ("g2", "g1", "g3")
    assert dataset.label_names == ("x", "y")
    assert dataset.groups is not None
    assert dataset.group_labels is not None
    assert dataset.groups.toarray().tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert dataset.group_labels.toarray().tolist() == [[1, 0], [1, 2], [0, 0]]
    assert dataset.Y.nnz == 0


def test_groups_are_written_and_read_again(instances: Path, tmp_path: Path) -> None:
    dataset = read_dataset(instances, options=options(tmp_path, GROUPS))
    out, groups = tmp_path / "out.csv", tmp_path / "out_groups.jsonl.gz"
    write_dataset(dataset, out, options=WriteOptions(group_labels=str(groups)))
    again = read_dataset(out, options=ReadOptions(group_labels=str(groups)))
    assert again.group_names == dataset.group_names
    assert again.groups is not None
    assert dataset.groups is not None
    assert (again.groups != dataset.groups).nnz == 0
    assert again.group_labels is not None
    assert dataset.group_labels is not None
    assert (again.group_labels != dataset.group_labels).nnz == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"labels": []}', "groups.jsonl:1: the field 'group' is missing"),
        ('{"group": "g1"}', "groups.jsonl:1: the field 'labels' is missing"),
        ('{"group": 1.5, "labels": []}', r"groups.jsonl:1: 'group' is not an id \(got 1.5\)"),
        ('{"group": "g1", "labels": "x"}', r"'labels' is not a list \(got 'x'\)"),
        ('{"group": "g1", "labels": [null]}', "neither a name nor an id"),
        (GROUPS + '{"group": "g1", "labels": []}', "groups.jsonl:4: .*twice.*first on line 2"),
        ("{", "groups.jsonl:1: an object must be on one line"),
        ("\n", "groups.jsonl holds no groups"),
        ('{"group": "g1", "labels": []}', r"data.jsonl:2: .*not in the groups file \(got 'g2'\)"),
    ],
)
def test_bad_groups_are_named(instances: Path, tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_dataset(instances, options=options(tmp_path, content))


def test_bad_groups_can_be_skipped(instances: Path, tmp_path: Path) -> None:
    dataset = read_dataset(
        instances, options=options(tmp_path, GROUPS + "broken\n", on_error="skip")
    )
    assert dataset.report is not None
    assert dataset.report.skipped == 1


def test_there_must_be_labels_to_write(instances: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no group_labels"):
        write_dataset(
            read_dataset(instances),
            tmp_path / "o.csv",
            options=WriteOptions(group_labels="x.jsonl"),
        )


@pytest.mark.parametrize("name", ["out.jsonl", "out.tsv", "out.parquet", "out"])
def test_every_format_of_texts_keeps_groups(instances: Path, tmp_path: Path, name: str) -> None:
    dataset = read_dataset(instances, options=options(tmp_path, GROUPS))
    groups = str(tmp_path / "out_groups.jsonl")
    write_dataset(dataset, tmp_path / name, options=WriteOptions(group_labels=groups))
    again = read_dataset(tmp_path / name, options=ReadOptions(group_labels=groups))
    for matrix in ("Y", "groups", "group_labels"):
        before, after = getattr(dataset, matrix), getattr(again, matrix)
        assert before.toarray().tolist() == after.toarray().tolist()
    assert again.group_names == dataset.group_names
    assert again.label_names == dataset.label_names


def test_without_labels_of_their_own_instances_are_written_without(
    instances: Path, tmp_path: Path
) -> None:
    write_dataset(
        read_dataset(instances, options=options(tmp_path, GROUPS)), tmp_path / "out.jsonl"
    )
    assert "labels" not in (tmp_path / "out.jsonl").read_text()
    write_dataset(read_dataset(instances, options=options(tmp_path, GROUPS)), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith('"text","group"\n')


def test_groups_of_a_folder_may_name_its_labels(tmp_path: Path) -> None:
    (tmp_path / "trn.jsonl").write_text('{"title": "a", "labels": [1], "group": "g"}\n')
    (tmp_path / "lbl.jsonl").write_text('{"title": "x"}\n{"title": "y"}\n')
    dataset = read_dataset(
        tmp_path, options=options(tmp_path, '{"group": "g", "labels": ["y", "nowhere"]}\n')
    )
    assert dataset.label_names == ("x", "y")
    assert dataset.group_labels is not None
    assert dataset.group_labels.toarray().tolist() == [[0, 1]]
    assert dataset.Y.toarray().tolist() == [[0, 1]]
    assert dataset.report is not None
    assert dataset.report.unknown_labels == 1
