"""fastText, Annif's TSV and plain lines: what they hold, what they change, and hostile files."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multitudes.data import Dataset, LabelSpace, ReadOptions, WriteOptions, read_dataset
from multitudes.data import write_dataset as write
from multitudes.data.formats import find_format
from multitudes.data.writing import left_behind
from multitudes.errors import DataError

FORMATS = ("fasttext", "annif-tsv", "lines")
GOOD = {
    "fasttext": b"__label__a one\ntwo __label__b __label__a\nno labels\n",
    "annif-tsv": b"one\t<a>\ntwo\t<b> <a>\nno labels\t\n",
    "lines": b"one\ntwo\nno labels\n",
}


def parse(tmp_path: Path, content: bytes, format: str, **options: object) -> Dataset:
    path = tmp_path / "data"
    path.write_bytes(content)
    return read_dataset(path, format=format, options=ReadOptions.from_dict(options))


def labels(dataset: Dataset) -> list[list[str]]:
    return [sorted(dataset.labels_of(i)) for i in range(len(dataset))]


@pytest.mark.parametrize("format", FORMATS)
def test_texts_and_labels(tmp_path: Path, format: str) -> None:
    dataset = parse(tmp_path, GOOD[format], format)
    assert dataset.texts == ("one", "two", "no labels")
    assert labels(dataset) == ([[], [], []] if format == "lines" else [["a"], ["a", "b"], []])


@pytest.mark.parametrize("format", FORMATS)
def test_marks_line_ends_and_archives(tmp_path: Path, format: str) -> None:
    plain = parse(tmp_path, GOOD[format], format)
    odd = b"\xef\xbb\xbf" + GOOD[format].replace(b"\n", b"\r\n").rstrip(b"\r\n")
    for content in (odd, gzip.compress(GOOD[format])):
        again = parse(tmp_path, content, format)
        assert (again.texts, labels(again)) == (plain.texts, labels(plain))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"caf\xe9\t", "invalid UTF-8 at byte 4"),
        (b"x" * 3000 + b"\t", "longer than max_line_bytes"),
    ],
)
def test_bad_lines_are_named_or_skipped(
    tmp_path: Path, format: str, line: bytes, message: str
) -> None:
    content = GOOD[format] + line + b"\n" + GOOD[format]
    with pytest.raises(DataError, match=rf"data:4: .*{message}.*on_error='skip'"):
        parse(tmp_path, content, format, max_line_bytes=2000)
    dataset = parse(tmp_path, content, format, on_error="skip", max_line_bytes=2000)
    assert len(dataset) == 6
    assert dataset.report is not None
    assert dataset.report.skipped == 1


@pytest.mark.parametrize("format", FORMATS)
def test_empty_and_foreign_files(tmp_path: Path, format: str) -> None:
    with pytest.raises(DataError, match="is empty"):
        parse(tmp_path, b"", format)
    with pytest.raises(DataError, match="UTF-16"):
        parse(tmp_path, "one\n".encode("utf-16"), format)
    with pytest.raises(DataError, match="truncated"):
        parse(tmp_path, gzip.compress(GOOD[format])[:-9], format)


@pytest.mark.parametrize("format", FORMATS[:2])
def test_over_a_label_space(tmp_path: Path, format: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(GOOD[format])
    dataset = read_dataset(path, labels=LabelSpace(["b", "z"]))
    assert dataset.Y.toarray().tolist() == [[0, 0], [1, 0], [0, 0]]
    assert dataset.report is not None
    assert dataset.report.unknown_labels == 2
    assert dataset.report.format == format


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=200))
@pytest.mark.parametrize("format", FORMATS)
def test_any_bytes_are_read_or_refused(tmp_path: Path, format: str, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    with contextlib.suppress(DataError):
        dataset = read_dataset(path, format=format, options=ReadOptions(on_error="skip"))
        assert dataset.texts is not None


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(st.lists(WORDS, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=4),
    names=st.lists(WORDS, min_size=1, max_size=3, unique=True),
)
@pytest.mark.parametrize("format", FORMATS[:2])
def test_round_trips(tmp_path: Path, format: str, texts: list[str], names: list[str]) -> None:
    names = [name.replace("<", "").replace(">", "") or "x" for name in names]
    dataset = Dataset.from_lists(texts, [sorted(set(names))] * len(texts))
    write(dataset, tmp_path / "trip", format=format)
    again = read_dataset(tmp_path / "trip", format=format)
    assert again.texts == dataset.texts
    assert labels(again) == labels(dataset)


# fastText --------------------------------------------------------------------------------------


def test_another_prefix(tmp_path: Path) -> None:
    dataset = parse(tmp_path, b"#a text #b\n", "fasttext", label_prefix="#")
    assert (dataset.texts, labels(dataset)) == (("text",), [["a", "b"]])
    write(dataset, tmp_path / "out.ft", options=WriteOptions(label_prefix="!"))
    assert (tmp_path / "out.ft").read_text() == "!a !b text\n"


def test_a_prefix_without_a_name_is_a_bad_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data:1: a label is empty"):
        parse(tmp_path, b"__label__ text\n", "fasttext")


def test_blanks_in_labels_become_underscores_and_that_is_said(tmp_path: Path) -> None:
    dataset = Dataset.from_lists(["two\nlines"], [["engine parts"]], uids=["u"])
    path = tmp_path / "out.ft"
    write(dataset, path)
    assert path.read_text() == "__label__engine_parts two lines\n"
    assert left_behind(dataset, path, options=WriteOptions()) == [
        f"{path}: 1 labels hold blanks and are written with _, e.g. 'engine parts' as engine_parts",
        f"{path}: the uids of instances are not written",
    ]


def test_what_fasttext_cannot_hold_is_refused(tmp_path: Path) -> None:
    same = Dataset.from_lists(["t"], [["a b", "a_b"]])
    with pytest.raises(DataError, match="'a b' and 'a_b' would be one label"):
        write(same, tmp_path / "out.ft")
    marked = Dataset.from_lists(["a __label__b"], [["x"]])
    with pytest.raises(DataError, match="would be read as a label: choose another label_prefix"):
        write(marked, tmp_path / "out.ft")
    assert list(tmp_path.iterdir()) == []


# Annif -----------------------------------------------------------------------------------------


def test_a_line_without_a_tab_is_bad(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data:2: there is no tab"):
        parse(tmp_path, b"a\t<x>\nb\n", "annif-tsv")


def test_quotes_mean_nothing_to_annif(tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    path.write_text('"half a quote\t<x>\n')
    assert read_dataset(path).texts == ('"half a quote',)


def test_annif_labels_are_uris(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'two words' holds blanks or angle brackets"):
        write(Dataset.from_lists(["t"], [["two words"]]), tmp_path / "o", format="annif-tsv")


@pytest.mark.parametrize(
    "content",
    [
        "text,subject_uris\na,<http://x/1> <http://x/2>\n",
        "text,subject_uris\na,http://x/1 http://x/2\n",
    ],
)
def test_annif_csv_is_a_table_of_uris(tmp_path: Path, content: str) -> None:
    (tmp_path / "d.csv").write_text(content)
    assert labels(read_dataset(tmp_path / "d.csv")) == [["http://x/1", "http://x/2"]]


def test_annif_json_lines_name_subjects(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text(
        '{"document_id": "1", "text": "a", "subjects": [{"uri": "http://x/1", "label": "one"}]}\n'
        '{"document_id": "2", "text": "b", "subjects": [{"label": "two"}]}\n'
    )
    dataset = read_dataset(tmp_path / "d.jsonl")
    assert labels(dataset) == [["http://x/1"], ["two"]]
    assert dataset.label_titles == ("one", "two")
    assert dataset.uids == ("1", "2")


# Plain lines -----------------------------------------------------------------------------------


def test_rows_are_line_numbers(tmp_path: Path) -> None:
    assert parse(tmp_path, b"a\n\nb\n", "lines").texts == ("a", "", "b")


@pytest.mark.parametrize("name", ["d.txt", "d", "d.txt.gz"])
@pytest.mark.parametrize("text", ["Hello, world; again", "one, two\nthree", "text, and more"])
def test_sentences_are_not_tables(tmp_path: Path, name: str, text: str) -> None:
    content = f"{text}\nanother, longer, line\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    dataset = read_dataset(tmp_path / name)
    assert dataset.texts == tuple(content.decode().splitlines())
    assert dataset.report is not None
    assert dataset.report.format == "lines"


def test_nothing_is_learned_from_lines(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("some text\n")
    with pytest.raises(DataError, match="without labels.*__label__a.*format='csv'"):
        read_dataset(tmp_path / "d.txt", options=ReadOptions(require_labels=True))


def test_lines_are_written_without_labels(tmp_path: Path) -> None:
    dataset = Dataset.from_lists(["a\nb", "c"], [["x"], []])
    write(dataset, tmp_path / "o", format="lines")
    assert (tmp_path / "o").read_text() == "a b\nc\n"
    said = left_behind(dataset, "o", format="lines", options=WriteOptions())
    assert said == ["o: the labels are not written: this format has none"]
    assert find_format("lines").sniff is not None
