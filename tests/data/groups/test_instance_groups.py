"""Groups of instances that are features: a file beside X and Y."""

from __future__ import annotations

from pathlib import Path

import pytest
import scipy.sparse as sp

from multitudes.data import (
    Dataset,
    LabelSpace,
    ReadOptions,
    WriteOptions,
    read_dataset,
    write_dataset,
)
from multitudes.errors import ConfigError, DataError

SPARSE = "3 5 3\n0,2 1:0.5 4:2\n 0:1\n1 3:0.25\n"
MEMBERS = '{"group": "g"}\n{"group": ["h", "g"]}\n{}\n'
LABELS = '{"group": "h", "labels": [1]}\n{"group": "g", "labels": [2, 2, 0]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.txt").write_text(SPARSE)
    (tmp_path / "members.jsonl").write_text(MEMBERS)
    (tmp_path / "groups.jsonl").write_text(LABELS)
    return tmp_path


def options(folder: Path, **settings: object) -> ReadOptions:
    return ReadOptions(
        instance_groups=str(folder / "members.jsonl"),
        group_labels=str(folder / "groups.jsonl"),
        **settings,  # type: ignore[arg-type]
    )


def dense(matrix: object) -> list[list[float]]:
    assert isinstance(matrix, sp.csr_array)
    return matrix.toarray().tolist()


def test_sparse_text_with_groups(folder: Path) -> None:
    dataset = read_dataset(folder / "data.txt", options=options(folder))
    assert dataset.group_names == ("h", "g")
    assert dense(dataset.groups) == [[0, 1], [1, 1], [0, 0]]
    assert dense(dataset.group_labels) == [[0, 1, 0], [1, 0, 2]]
    assert dense(dataset.Y) == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("name", ["out.txt", "out.npz"])
def test_groups_survive_a_round_trip(folder: Path, name: str) -> None:
    dataset = read_dataset(folder / "data.txt", options=options(folder))
    (folder / "out").mkdir()
    files = {"instance_groups": "members.jsonl.gz", "group_labels": "groups.jsonl"}
    files = {key: str(folder / "out" / file) for key, file in files.items()}
    write_dataset(dataset, folder / "out" / name, options=WriteOptions(**files))
    again = read_dataset(folder / "out" / name, options=ReadOptions(**files))
    assert again.group_names == dataset.group_names
    for matrix in ("X", "Y", "groups", "group_labels"):
        assert dense(getattr(again, matrix)) == dense(getattr(dataset, matrix))


def test_memberships_alone(folder: Path) -> None:
    only = ReadOptions(instance_groups=str(folder / "members.jsonl"))
    dataset = read_dataset(folder / "data.txt", options=only)
    assert dataset.group_names == ("g", "h")
    assert dataset.group_labels is None


def test_names_of_labels_come_from_the_file_beside(folder: Path) -> None:
    (folder / "lbl.jsonl").write_text("".join(f'{{"title": "{name}"}}\n' for name in "abc"))
    (folder / "groups.jsonl").write_text(
        '{"group": "h", "labels": ["b", "z"]}\n{"group": "g", "labels": []}\n'
    )
    dataset = read_dataset(folder / "data.txt", options=options(folder))
    assert dense(dataset.group_labels) == [[0, 1, 0], [0, 0, 0]]
    assert dataset.report is not None
    assert dataset.report.unknown_labels == 1
    assert dataset.report.unknown_label_examples == ("z",)


def test_without_a_header_groups_may_bring_further_labels(folder: Path) -> None:
    (folder / "data.txt").write_text(" 1:0.5\n 0:1\n 3:0.25\n")
    dataset = read_dataset(folder / "data.txt", options=options(folder))
    assert dataset.n_labels == 3
    assert dataset.Y.nnz == 0


def test_a_fixed_label_space_moves_the_labels_of_groups_too(folder: Path) -> None:
    (folder / "lbl.jsonl").write_text("".join(f'{{"title": "{name}"}}\n' for name in "abc"))
    space = LabelSpace(["c", "a"])
    dataset = read_dataset(folder / "data.txt", options=options(folder), labels=space)
    assert dense(dataset.group_labels) == [[0, 0], [2, 1]]
    assert dataset.report is not None
    assert dataset.report.unknown_labels == 2  # "b" of an instance, and of a group


@pytest.mark.parametrize(
    ("members", "labels", "message"),
    [
        ('{"group": "g"}\n', LABELS, "has 1 lines, but there are 3 instances"),
        (MEMBERS.replace('"h"', '"x"'), LABELS, r"members.jsonl:2: .*\(got 'x'\)"),
        (MEMBERS.replace('"h"', "1.5"), LABELS, "members.jsonl:2: the group is not an id"),
        (MEMBERS + "broken\n", LABELS, "members.jsonl:4: broken JSON"),
        (MEMBERS, LABELS.replace("[1]", "[3]"), r"groups.jsonl:1: .*out of range \(got 3\)"),
        (MEMBERS, LABELS.replace("[1]", "[-1]"), r"groups.jsonl:1: .*out of range \(got -1\)"),
    ],
)
def test_bad_files_are_named(folder: Path, members: str, labels: str, message: str) -> None:
    (folder / "members.jsonl").write_text(members)
    (folder / "groups.jsonl").write_text(labels)
    with pytest.raises(DataError, match=message):
        read_dataset(folder / "data.txt", options=options(folder))


def test_skipped_lines_would_shift_the_groups(folder: Path) -> None:
    (folder / "data.txt").write_text(SPARSE.replace("0:1", "0:x"))
    with pytest.raises(DataError, match="1 bad lines were skipped, correct those"):
        read_dataset(folder / "data.txt", options=options(folder, on_error="skip"))


def test_labels_of_groups_need_members(folder: Path) -> None:
    alone = ReadOptions(group_labels=str(folder / "groups.jsonl"))
    with pytest.raises(DataError, match="nothing says which instances are in a group"):
        read_dataset(folder / "data.txt", options=alone)


def test_texts_have_a_field_for_their_groups(folder: Path) -> None:
    (folder / "texts.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(
        ConfigError, match="for formats without groups .sparse-text, npz., got .* for json-lines"
    ):
        read_dataset(folder / "texts.jsonl", options=options(folder))
    with pytest.raises(ConfigError, match="for csv, in which an instance names its groups"):
        write_dataset(
            read_dataset(folder / "texts.jsonl"),
            folder / "out.csv",
            options=WriteOptions(instance_groups=str(folder / "x.jsonl")),
        )


def test_there_must_be_groups_to_write(folder: Path) -> None:
    dataset = Dataset(Y=sp.csr_array((1, 1)), X=sp.csr_array((1, 1)))
    with pytest.raises(DataError, match="has no groups"):
        write_dataset(
            dataset, folder / "o.txt", options=WriteOptions(instance_groups=str(folder / "x"))
        )
