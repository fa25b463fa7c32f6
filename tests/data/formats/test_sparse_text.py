"""Sparse text: what it means, what it refuses and where, and exact round trips."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from multitudes.data.dataset import Dataset
from multitudes.data.formats import sparse_text
from multitudes.data.formats.sparse_text import read_sparse_text, write_sparse_text
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions, WriteOptions
from multitudes.errors import DataError

GOOD = b"3 5 4\n0,2 1:0.5 4:2\n 0:-1\n3\n"


@pytest.fixture
def save(tmp_path: Path):
    def save(data: bytes, name: str = "train.txt") -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return save


def assert_same(one: Dataset, other: Dataset) -> None:
    for a, b in ((one.X, other.X), (one.Y, other.Y)):
        assert a.shape == b.shape
        assert a.dtype == b.dtype == np.float32
        np.testing.assert_array_equal(a.indptr, b.indptr)
        np.testing.assert_array_equal(a.indices, b.indices)
        np.testing.assert_array_equal(a.data.view(np.uint32), b.data.view(np.uint32))


def test_a_file_with_header(save) -> None:
    dataset = read_sparse_text(save(GOOD))
    assert dataset.X.toarray().tolist() == [[0, 0.5, 0, 0, 2], [-1, 0, 0, 0, 0], [0] * 5]
    assert dataset.Y.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert dataset.X.dtype == dataset.Y.dtype == np.float32
    assert dataset.X.indices.dtype == dataset.X.indptr.dtype == np.int32


def test_without_header_sizes_are_the_largest_ids_or_what_was_asked(save) -> None:
    path = save(b"# a comment\n0,2 1:0.5 4:2 # note\n\n0:-1 6:0\n")
    dataset = read_sparse_text(path)
    assert (dataset.X.shape, dataset.Y.shape) == ((2, 7), (2, 3))
    dataset = read_sparse_text(path, ReadOptions(n_features=9, n_labels=8))
    assert (dataset.X.shape, dataset.Y.shape) == ((2, 9), (2, 8))


def test_one_based_features(save) -> None:
    dataset = read_sparse_text(save(b"1 2 3\n0 1:5 2:6\n"), ReadOptions(first_feature=1))
    assert dataset.X.toarray().tolist() == [[5, 6]]


@pytest.mark.parametrize(
    "data",
    [
        GOOD[:-1],  # no newline at the end
        GOOD.replace(b"\n", b"\r\n"),
        GOOD + b"\n\n  \n",
        b"\xef\xbb\xbf" + GOOD,
        GOOD.replace(b" ", b"\t"),
        GOOD.replace(b" 0:-1", b"0:-1"),
        GOOD.replace(b"0,2", b"2,0,2"),  # labels in any order; twice counts once
        GOOD.replace(b"1:0.5", b"0:0 1:0.5 2:-0.0"),  # zeros are left out
        gzip.compress(GOOD, mtime=0),  # the time of day would change the name of the test
        lzma.compress(GOOD),
    ],
)
def test_harmless_variants_read_the_same(save, data: bytes) -> None:
    assert_same(read_sparse_text(save(data)), read_sparse_text(save(GOOD, "plain.txt")))


def test_a_blank_line_is_an_instance_under_a_header(save) -> None:
    dataset = read_sparse_text(save(b"3 2 2\n\n1 1:1\n \n"))
    assert np.diff(dataset.X.indptr).tolist() == [0, 1, 0]


def test_no_instances_under_a_header_are_legal(save) -> None:
    dataset = read_sparse_text(save(b"0 5 4\n"))
    assert (dataset.X.shape, dataset.Y.shape) == ((0, 5), (0, 4))


def test_blocks_of_any_size_read_the_same(save, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 50), density=0.2, rng=rng, format="csr", dtype=np.float32)
    Y = sp.csr_array((rng.random((200, 9)) < 0.2).astype(np.float32))
    path = save(b"")
    write_sparse_text(Dataset(X=X, Y=Y), path)
    whole = read_sparse_text(path)
    assert_same(whole, Dataset(X=X, Y=Y))
    for size in (1, 7, 100):
        monkeypatch.setattr(sparse_text, "BLOCK_BYTES", size)
        assert_same(read_sparse_text(path), whole)


LINE = 3  # every case below puts its line third: after the header and a good line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a 1:1", r"not a list of label ids \(got 'a'\); expected e.g. 3,17"),
        ("-1 1:1", r"not a list of label ids \(got '-1'\)"),
        ("1,4 1:1", r"label id is out of range \(got '1,4'\); the header allows 0 to 3"),
        ("1 5:1", r"feature id is out of range \(got '5:1'\); the header allows 0 to 4"),
        ("1 -1:1", r"not a feature \(got '-1:1'\); expected feature:value"),
        ("1 2", r"not a feature \(got '2'\)"),
        ("1 2:nan", r"not a finite number \(got '2:nan'\)"),
        ("1 2:-inf", r"not a finite number \(got '2:-inf'\)"),
        ("1 2:1,5", r"not a finite number \(got '2:1,5'\)"),
        ("1 2:1e39", r"too large for float32 \(got '2:1e39'\)"),
        ("1 2:1 1:1", r"must rise within a line \(got '1:1'\)"),
        ("1 2:1 2:1", r"listed twice in one line \(got '2:1'\)"),
        ("1 2:é", r"not a finite number \(got '2:\\\\xc3\\\\xa9'\)"),
        ("1 2:" + "1" * 100 + "x", r"not a finite number \(got '2:1{38}'\.\.\.\)"),
        ("1 1:" + "1" * 300, r"the line is longer than max_line_bytes \(200 bytes\)"),
    ],
)
def test_a_bad_line_is_named_or_skipped(save, line: str, message: str) -> None:
    path = save(b"3 5 4\n0 1:1\n" + line.encode() + b"\n3 4:2\n")
    with pytest.raises(DataError, match=f"train.txt:{LINE}: .*{message}"):
        read_sparse_text(path, ReadOptions(max_line_bytes=200))
    dataset = read_sparse_text(path, ReadOptions(max_line_bytes=200, on_error="skip"))
    assert dataset.Y.indices.tolist() == [0, 3]
    assert dataset.X.indices.tolist() == [1, 4]
    assert dataset.report.skipped == 1
    assert f"train.txt:{LINE}: " in dataset.report.skipped_examples[0]


def test_line_numbers_hold_across_blocks_and_skips(save) -> None:
    good = b"1 0:1 2:3\n"
    path = save(b"".join(b"x\n" if i in (3, 500, 999) else good for i in range(1000)))
    dataset = read_sparse_text(path, ReadOptions(on_error="skip", max_line_bytes=64))
    assert len(dataset) == 997
    assert [m.split(": ")[0][-4:] for m in dataset.report.skipped_examples] == [
        "xt:4",
        ":501",
        "1000",
    ]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n# nothing\n", "holds no instances"),
        (b"4 5 4\n0 1:1\n", "announces 4 instances, but the file holds 1"),
        (
            b"1 5 4\n0 1:1\n\n1 2:2\n",
            r"txt:4: more lines than the header announces \(got 1 and .*'1'",
        ),
        (
            b"1 99999999999 4\n0 1:1\n",
            "txt:1: the header announces too many instances, features or labels",
        ),
        (lzma.compress(GOOD * 1000)[:-30], "archive is (truncated|damaged)"),
    ],
)
def test_a_bad_file_is_refused(save, data: bytes, message: str, on_error: str) -> None:
    with pytest.raises(DataError, match=message):
        read_sparse_text(save(data), ReadOptions(on_error=on_error))


def test_a_missing_file_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_sparse_text(tmp_path / "no.txt")


def test_a_header_and_a_setting_that_disagree(save) -> None:
    with pytest.raises(DataError, match="announces 4 labels, but n_labels=9 was asked for"):
        read_sparse_text(save(GOOD), ReadOptions(n_labels=9))


def test_a_headerless_line_one_hints_at_the_header(save) -> None:
    with pytest.raises(DataError, match=r"txt:1: .*'N D L' in line 1"):
        read_sparse_text(save(b"labels features\n"))


def test_names_beside_the_file(save) -> None:
    path = save(b"0,2 1:0.5\n")
    save(b'{"uid": "u0", "title": "belt"}\n{"uid": "u1"}\n{"title": "belt"}\n', "lbl.jsonl")
    save(lzma.compress("leather\nsteel\nß\n".encode()), "features.txt.xz")
    dataset = read_sparse_text(path)
    assert dataset.label_names == ("belt [u0]", "u1", "belt [3]")
    assert dataset.feature_names == ("leather", "steel", "ß")
    assert (dataset.X.shape, dataset.Y.shape) == ((1, 3), (1, 3))


def test_names_that_are_too_few(save) -> None:
    save(b'{"title": "belt"}\n', "lbl.jsonl")
    with pytest.raises(DataError, match=r"lbl.jsonl names 1 labels, but the data beside it has 4"):
        read_sparse_text(save(GOOD))


def test_over_a_given_label_space(save) -> None:
    space = LabelSpace(["a", "b", "c", "d", "e"])
    dataset = read_sparse_text(save(GOOD), labels=space)
    assert dataset.Y.shape == (3, 5)
    assert dataset.label_names == ("a", "b", "c", "d", "e")


matrices = st.integers(0, 6).flatmap(
    lambda n: st.tuples(
        hnp.arrays(
            np.float32,
            (n, 4),
            elements=st.just(0.0) | st.floats(width=32, allow_nan=False, allow_infinity=False),
        ),
        hnp.arrays(np.bool_, (n, 3)),
    )
)


@pytest.mark.parametrize("suffix", ["", ".zst"])
@given(matrices=matrices)
def test_written_data_reads_back_bit_for_bit(tmp_path_factory, matrices, suffix: str) -> None:
    dense_x, dense_y = matrices
    dataset = Dataset(
        X=sp.csr_array(dense_x),
        Y=sp.csr_array(dense_y.astype(np.float32)),
        label_names=["a", "\n", "ä"],
        feature_names=["", " ", "x", "y z"],
    )
    path = tmp_path_factory.mktemp("round") / f"a.txt{suffix}"
    write_sparse_text(dataset, path)
    again = read_sparse_text(path)
    assert_same(again, dataset)
    assert again.label_names == dataset.label_names
    assert again.feature_names == dataset.feature_names


def test_the_written_bytes(tmp_path: Path) -> None:
    X = sp.csr_array(np.array([[0, 0.1, 2], [0, 0, 0], [1e-8, 0, -3]], np.float32))
    X.data[0], X.data[1] = 0.0, np.float32(1 / 3)
    Y = sp.csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0]], np.float32))
    write_sparse_text(Dataset(X=X, Y=Y), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes() == b"3 3 3\n0,2 2:0.33333334\n\n 0:1e-8 2:-3\n"
    assert X.nnz == 4, "the Dataset itself keeps its stored zero"


def test_texts_and_weighted_labels_cannot_be_written(tmp_path: Path) -> None:
    Y = sp.csr_array(np.array([[2.0]], np.float32))
    with pytest.raises(DataError, match="cannot write texts"):
        write_sparse_text(Dataset(Y=Y, texts=["a"]), tmp_path / "a.txt")
    with pytest.raises(DataError, match=r"labels without weights \(got 2.0\)"):
        write_sparse_text(Dataset(Y=Y, X=Y), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_other_names_in_the_folder_are_not_overwritten(tmp_path: Path) -> None:
    Y = sp.csr_array(np.eye(2, dtype=np.float32))
    one, other = (Dataset(Y=Y, X=Y, label_names=names) for names in (["a", "b"], ["a", "c"]))
    write_sparse_text(one, tmp_path / "trn.txt")
    write_sparse_text(one, tmp_path / "tst.txt")
    with pytest.raises(DataError, match="already holds other labels"):
        write_sparse_text(other, tmp_path / "dev.txt")
    write_sparse_text(other, tmp_path / "dev.txt", WriteOptions(label_kind="ids"))
    assert read_sparse_text(tmp_path / "dev.txt").label_names == ("a", "b")


def test_a_feature_name_with_a_line_end_cannot_be_written(tmp_path: Path) -> None:
    Y = sp.csr_array(np.eye(1, dtype=np.float32))
    with pytest.raises(DataError, match=r"got 'a\\nb'"):
        write_sparse_text(Dataset(Y=Y, X=Y, feature_names=["a\nb"]), tmp_path / "a.txt")


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "part", "shape", "n_labels", "nnz", "n_positives"),
    [
        ("bibtex", "train", (4880, 1836), 159, 334250, 11616),
        ("bibtex", "test", (2515, 1836), 159, 173496, 6146),
        ("delicious", "train", (12920, 500), 983, 239549, 246088),
    ],
)
def test_real_files(shared_data, name, part, shape, n_labels, nnz, n_positives) -> None:
    dataset = read_sparse_text(shared_data(name) / f"{part}.txt.xz")
    assert (dataset.X.shape, dataset.n_labels) == (shape, n_labels)
    assert (dataset.X.nnz, dataset.Y.nnz) == (nnz, n_positives)
    assert len(dataset.label_names) == n_labels
