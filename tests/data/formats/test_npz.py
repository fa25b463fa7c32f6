"""Pairs of .npz files: how they are found, what is refused, exact round trips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data.dataset import Dataset
from multitudes.data.formats.npz import is_npz_pair, read_npz_pair, write_npz_pair
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions, WriteOptions
from multitudes.errors import DataError

X = sp.csr_array(np.array([[0, 1 / 3, 0], [0, 0, 0], [-2, 0, 1e-30]], np.float32))
Y = sp.csr_array(np.array([[1, 1], [0, 0], [0, 1]], np.float32))


def save(folder: Path, x=X, y=Y, names: tuple[str, str] = ("X.npz", "Y.npz")) -> Path:
    sp.save_npz(folder / names[0], x)
    sp.save_npz(folder / names[1], y)
    return folder


def assert_is_the_pair(dataset: Dataset) -> None:
    for got, expected in ((dataset.X, X), (dataset.Y, Y)):
        assert isinstance(got, sp.csr_array)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got.toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (("X.npz", "Y.npz"), "."),
        (("X.npz", "Y.npz"), "X.npz"),
        (("X.npz", "Y.npz"), "Y.npz"),
        (("trn.X.npz", "trn.Y.npz"), "."),
        (("X.trn.npz", "Y.trn.npz"), "."),
        (("X.trn.npz", "Y.trn.npz"), "Y.trn.npz"),
        (("a.b.X.npz", "a.b.Y.npz"), "a.b.npz"),
        (("a.b.X.npz", "a.b.Y.npz"), "a.b"),
        (("a.b.X.npz", "a.b.Y.npz"), "a.b.Y.npz"),
    ],
)
def test_ways_to_name_a_pair(tmp_path: Path, names: tuple[str, str], path: str) -> None:
    save(tmp_path, names=names)
    assert is_npz_pair(tmp_path / path)
    assert_is_the_pair(read_npz_pair(tmp_path / path))


def test_the_split_chooses_in_a_folder(tmp_path: Path) -> None:
    save(tmp_path, names=("tst.X.npz", "tst.Y.npz"))
    save(tmp_path, x=X[:1], y=Y[:1], names=("trn.X.npz", "trn.Y.npz"))
    assert_is_the_pair(read_npz_pair(tmp_path, ReadOptions(split="tst")))
    assert len(read_npz_pair(tmp_path)) == 1


@pytest.mark.parametrize(
    "x", [X.tocsc(), X.tocoo(), sp.csr_matrix(X), sp.bsr_array(X), X.astype(np.float64)]
)
def test_any_layout_and_type_reads_as_float32_rows(tmp_path: Path, x) -> None:
    assert_is_the_pair(read_npz_pair(save(tmp_path, x=x, y=Y.astype(bool))))


def test_stored_zeros_of_y_are_no_labels(tmp_path: Path) -> None:
    y = Y.copy()
    y.data[0] = 0
    assert read_npz_pair(save(tmp_path, y=y)).Y.nnz == 2


def test_a_missing_half_lists_what_was_looked_for(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "X.npz", X)
    assert not is_npz_pair(tmp_path)
    with pytest.raises(DataError, match=r"trn.X.npz \+ trn.Y.npz, .*, X.npz \+ Y.npz"):
        read_npz_pair(tmp_path)


def with_entry(value: float) -> sp.csr_array:
    x = X.astype(np.float64)
    x.data[1] = value
    return x


def twice() -> sp.coo_array:
    return sp.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(3, 3))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:2], Y, "has 2 rows and Y.npz 3; expected one row per instance"),
        (with_entry(np.nan), Y, "X.npz must hold finite .* got nan in row 2, column 0"),
        (with_entry(1e300), Y, "got inf in row 2, column 0"),
        (X.astype(np.complex64), Y, "must hold real numbers, got complex64"),
        (twice(), Y, "X.npz stores 1 entries more than once"),
        (X, 2 * Y, "Y.npz must hold 1 for each label .* got 2.0"),
    ],
)
def test_bad_matrices_are_refused(tmp_path: Path, x, y, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_npz_pair(save(tmp_path, x=x, y=y))


def broken_indices(path: Path) -> None:
    np.savez(
        path,
        format=b"csr",
        shape=(3, 3),
        data=np.ones(3),
        indices=np.array([0, 1, 7]),
        indptr=np.array([0, 1, 2, 3]),
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"no archive"),
        lambda path: path.write_bytes(path.read_bytes()[:200]),
        lambda path: np.savez(path, a=np.ones(3)),
        lambda path: np.savez(path, a=np.array([{}], dtype=object)),
        lambda path: np.savez(path, format=np.array([{}], dtype=object)),
        broken_indices,
    ],
)
def test_files_that_are_no_sparse_matrix(tmp_path: Path, spoil) -> None:
    save(tmp_path)
    spoil(tmp_path / "X.npz")
    with pytest.raises(DataError, match=r"X.npz is not a valid sparse matrix .*save_npz"):
        read_npz_pair(tmp_path)


@pytest.mark.parametrize("option", ["n_labels", "n_features"])
def test_sizes_that_were_asked_for(tmp_path: Path, option: str) -> None:
    with pytest.raises(DataError, match=f"columns, but {option}=9 was asked for"):
        read_npz_pair(save(tmp_path), ReadOptions(**{option: 9}))


def test_over_a_given_label_space(tmp_path: Path) -> None:
    dataset = read_npz_pair(save(tmp_path), labels=LabelSpace(["a", "b", "c"]))
    assert dataset.Y.shape == (3, 3)


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("out", ["out/tst.X.npz", "out/tst.Y.npz"]),
        ("a.npz", ["a.X.npz", "a.Y.npz"]),
        ("X.npz", ["X.npz", "Y.npz"]),
        ("a.Y.npz", ["a.X.npz", "a.Y.npz"]),
    ],
)
def test_round_trip(tmp_path: Path, path: str, files: list[str]) -> None:
    write_npz_pair(Dataset(X=X, Y=Y), tmp_path / path, WriteOptions(split="tst"))
    found = [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.npz")]
    assert sorted(found) == files
    assert_is_the_pair(read_npz_pair(tmp_path / path, ReadOptions(split="tst")))


def test_names_travel_beside(tmp_path: Path) -> None:
    dataset = Dataset(X=X, Y=Y, label_names=["a", "b"], feature_names=["x", "y", "z"])
    write_npz_pair(dataset, tmp_path)
    again = read_npz_pair(tmp_path)
    assert (again.label_names, again.feature_names) == (("a", "b"), ("x", "y", "z"))


def test_texts_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write texts"):
        write_npz_pair(Dataset(Y=Y, texts=["a", "b", "c"]), tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []
