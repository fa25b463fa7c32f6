"""Formats are known by content; `read_dataset` and `write_dataset` go between all of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from multitudes.data import (
    Dataset,
    LabelSpace,
    ReadOptions,
    WriteOptions,
    read_dataset,
    write_dataset,
)
from multitudes.data.formats import BUILT_IN
from multitudes.data.reading import detect_file
from multitudes.errors import DataError

CONTENTS = {
    "json-lines": b'\n {"text": "a, b", "labels": []}\n',
    "csv": b"text,labels\na,b\n",
    "tsv": b"text\tlabels\na\tb\n",
    "sparse-text": b"1 2 3\n0 1:0.5\n",
    "fasttext": b"\n__label__a __label__b some, text\nno label here\n",
    "annif-tsv": b"some, text\t<http://a> <http://b>\nmore\t\n",
    "xc-pair": b"2 3\n0:1 2:0.5\n\n",
}
CERTAIN = ("json-lines", "sparse-text", "fasttext", "annif-tsv", "xc-pair")
HEADERLESS = [b"0,2 1:0.5 3:1\n", b" 1:0.5\n", b"1:0.5 2:1e-3\n", b"7 0:-1\n"]


@pytest.mark.parametrize("format", CONTENTS)
@pytest.mark.parametrize("suffix", ["", ".dat", ".txt"])
@pytest.mark.parametrize("packed", [False, True])
def test_content_decides_if_the_suffix_tells_nothing(
    tmp_path: Path, format: str, suffix: str, packed: bool
) -> None:
    path = tmp_path / f"data{suffix}"
    path.write_bytes(gzip.compress(CONTENTS[format]) if packed else CONTENTS[format])
    assert detect_file(path).name == format


SUFFIXES = [suffix for format in BUILT_IN for suffix in format.suffixes if suffix != ".txt"]


@pytest.mark.parametrize("format", CERTAIN)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_certain_content_outweighs_any_suffix(tmp_path: Path, format: str, suffix: str) -> None:
    path = tmp_path / f"data{suffix}"
    path.write_bytes(CONTENTS[format])
    assert detect_file(path).name == format


@pytest.mark.parametrize("content", ["csv", "tsv"])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("packed", [False, True])
def test_any_suffix_outweighs_a_guess(
    tmp_path: Path, content: str, suffix: str, packed: bool
) -> None:
    path = tmp_path / f"data{suffix}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(CONTENTS[content]) if packed else CONTENTS[content])
    assert suffix in detect_file(path).suffixes


def test_a_broken_first_line_is_an_error_of_the_suffix_s_format(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('oops, broken\n{"text": "a", "labels": []}\n')
    with pytest.raises(DataError, match=r"data.jsonl:1: broken JSON at column 1.*oops, broken"):
        read_dataset(path)
    assert read_dataset(path, options=ReadOptions(on_error="skip")).texts == ("a",)


@pytest.mark.parametrize("content", HEADERLESS)
def test_sparse_text_without_a_header_is_known(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data"
    path.write_bytes(content)
    assert detect_file(path).name == "sparse-text"


@pytest.mark.parametrize(
    "content",
    ["at 10:30 we meet,a\n", "12 angry men,film\n", "1,2,3\n", "3 sizes: 1:2 and 1:3,a\n"],
)
def test_texts_with_numbers_are_not_sparse_text(tmp_path: Path, content: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(content)
    assert detect_file(path).name == "csv"


def test_a_name_breaks_ties(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("one column of texts\n")
    assert read_dataset(path).texts == ("one column of texts",)


@pytest.mark.parametrize(
    ("name", "content"),
    [("data.dat", b"neither here nor there\n"), ("data", b"\x00\x01\x02,\x00")],
)
def test_an_unknown_format_lists_the_known_ones(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot tell the format.*format='csv'") as error:
        read_dataset(path)
    for format in BUILT_IN:
        assert f"\n  {format.name}: " in str(error.value)


@pytest.mark.parametrize("name", ["data.json", "data.jsonl", "data", "data.txt.gz"])
def test_a_json_array_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = b'\xef\xbb\xbf [\n {"text": "a", "labels": ["x"]},\n {"text": "b", "labels": []}]\n'
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    dataset = read_dataset(path)
    assert dataset.texts == ("a", "b")
    assert dataset.labels_of(0) == ["x"]


def test_paths_that_are_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_dataset(tmp_path / "nothing.jsonl")
    with pytest.raises(DataError, match="not a data folder .*holds: nothing"):
        read_dataset(tmp_path)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(DataError, match="empty.jsonl is empty"):
        read_dataset(tmp_path / "empty.jsonl")


def test_unknown_format_names(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("a,b\n")
    with pytest.raises(DataError, match="unknown format 'parket': did you mean 'parquet'"):
        read_dataset(path, format="parket")
    with pytest.raises(DataError, match="unknown format 'xml': known: "):
        write_dataset(read_dataset(path), path, format="xml")
    assert len(read_dataset(path, format="csv")) == 1


def test_every_format_has_a_reader_and_a_writer() -> None:
    assert all(callable(format.read) and callable(format.write) for format in BUILT_IN)


def test_reading_over_the_labels_of_another_dataset(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "", "labels": ["x", "y"]}\n')
    (tmp_path / "b.csv").write_text("text,labels\nt,y;z\n")
    train = read_dataset(tmp_path / "a.jsonl")
    test = read_dataset(tmp_path / "b.csv", labels=train)
    assert test.label_names == train.label_names
    assert test.Y.toarray().tolist() == [[0, 1]]


def test_folders_of_tables_have_splits_too(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,labels\nt,y\n")
    (tmp_path / "test.csv").write_text("text,labels\nu,y\n")
    assert read_dataset(tmp_path).texts == ("t",)
    assert read_dataset(tmp_path, options=ReadOptions(split="test")).texts == ("u",)


def test_texts_cannot_become_features_nor_features_texts(tmp_path: Path) -> None:
    texts = Dataset(Y=sp.csr_array((1, 1)), texts=["a"])
    features = Dataset(Y=sp.csr_array((1, 1)), X=sp.csr_array((1, 1)))
    for format in BUILT_IN:
        if format.holds == "features":
            dataset, message = texts, "cannot write texts as .*features first"
        else:
            dataset, message = features, "cannot write features as"
        with pytest.raises(DataError, match=message):
            write_dataset(dataset, tmp_path / "out", format=format.name)
        for suffix in format.suffixes:
            with pytest.raises(DataError, match=message):
                write_dataset(dataset, tmp_path / f"out{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_unknown_suffixes_and_folders_of_output(tmp_path: Path) -> None:
    dataset = Dataset(Y=sp.csr_array((1, 1)), texts=["a"])
    with pytest.raises(DataError, match="from the suffix '.doc'.*format='csv'"):
        write_dataset(dataset, tmp_path / "out.doc")
    with pytest.raises(DataError, match="folder .* does not exist"):
        write_dataset(dataset, tmp_path / "no" / "out.csv")


# fastText has neither uids, nor blanks in labels, nor lines in texts: tests/data/formats.
CHANGES_TEXTS = ("fasttext",)


def files_of(holds: str) -> list[str]:
    """Return a name for each suffix of the formats that hold texts or features, and a folder."""
    formats = [f for f in BUILT_IN if f.holds == holds and f.name not in CHANGES_TEXTS]
    return [f"d{suffix}" for format in formats for suffix in format.suffixes] + ["folder"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = TEXTS.filter(bool)
LABELS = st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=6)


@pytest.mark.parametrize("name", [*files_of("texts"), "d.jsonl.zst", "d.csv.gz"])
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=LABELS,
    names=st.lists(NAMES, min_size=4, max_size=4, unique=True),
    texts=st.lists(TEXTS, min_size=6, max_size=6),
    uids=st.none() | st.lists(TEXTS, min_size=6, max_size=6),
)
@example(
    rows=[{0}, {1}, {2}, {3}, {0}, {1}],
    names=["a|b", "c;d", "['e']", "<http://f> "],
    texts=["a"] * 6,
    uids=None,
)
@example(
    rows=[{0, 1}, set(), {2}, {3}, {0}, {1}],
    names=["a,b", 'say "x"', "ü\u2028\n\r\t.", "123"],
    texts=["", "\n", "\r", 'a"b', "\ufeff", "a\x00b\u0085"],
    uids=["", " ", '"', ",", "\t", "\r\n"],
)
def test_round_trips_of_any_text(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    rows: list[set[int]],
    names: list[str],
    texts: list[str],
    uids: list[str] | None,
) -> None:
    Y = np.zeros((len(rows), 4), np.float32)
    for i, row in enumerate(rows):
        Y[i, sorted(row)] = 1
    dataset = Dataset(
        Y=sp.csr_array(Y),
        texts=texts[: len(rows)],
        label_names=names,
        uids=None if uids is None else uids[: len(rows)],
    )
    path = tmp_path_factory.mktemp("trip") / name
    write_dataset(dataset, path)
    again = read_dataset(path, labels=LabelSpace.of(dataset))
    assert again.texts == dataset.texts
    assert again.uids == dataset.uids
    assert again.label_names == dataset.label_names
    np.testing.assert_array_equal(again.Y.toarray(), Y)
    assert not again.report


def test_any_text_format_converts_to_any_other(tmp_path: Path) -> None:
    source = tmp_path / "0.jsonl"
    source.write_text('{"uid": "u", "text": "ü, \\n", "labels": ["b", "a"], "group": "g"}\n')
    dataset = read_dataset(source)
    for name in [*files_of("texts"), "2.tsv.xz", "5.ndjson.bz2"]:
        write_dataset(dataset, tmp_path / name, options=WriteOptions(compression="gz"))
        dataset = read_dataset(tmp_path / name)
        assert (name, dataset.texts, dataset.uids) == (name, ("ü, \n",), ("u",))
        assert sorted(dataset.labels_of(0)) == ["a", "b"]
        assert dataset.group_names == ("g",)


@pytest.mark.parametrize("name", [*files_of("features"), "d.txt.gz"])
def test_features_are_written_and_read_by_the_same_path(tmp_path: Path, name: str) -> None:
    X = sp.csr_array(np.array([[0.5, 0], [0, 2]], np.float32))
    Y = sp.csr_array(np.array([[1, 0, 0], [0, 1, 0]], np.float32))
    write_dataset(Dataset(Y=Y, X=X, label_names=["a", "b", "c"]), tmp_path / name)
    again = read_dataset(tmp_path / name, labels=LabelSpace(["b", "a"]))
    assert again.X is not None
    np.testing.assert_array_equal(again.X.toarray(), X.toarray())
    assert again.Y.toarray().tolist() == [[0, 1], [1, 0]]
