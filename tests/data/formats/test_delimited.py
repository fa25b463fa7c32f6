"""CSV and TSV: guessed and named columns, quoting, and rows that do not fit."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from multitudes.data import Dataset, LabelSpace, ReadOptions, WriteOptions
from multitudes.data.formats.delimited import guess_delimiter, read_delimited, write_delimited
from multitudes.data.formats.tabular import Table
from multitudes.errors import DataError


def parse(tmp_path: Path, content: str | bytes, **settings: object) -> Dataset:
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_delimited(path, ReadOptions.from_dict(settings))


def labels(dataset: Dataset) -> list[list[str]]:
    return [dataset.labels_of(i) for i in range(len(dataset))]


def test_named_columns_in_any_order(tmp_path: Path) -> None:
    dataset = parse(tmp_path, "labels,uid,other,text\na;b,1,?,first\nb,2,?,second\n,3,?,\n")
    assert dataset.texts == ("first", "second", "")
    assert dataset.uids == ("1", "2", "3")
    assert labels(dataset) == [["a", "b"], ["b"], []]


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_the_delimiter_is_guessed(tmp_path: Path, delimiter: str) -> None:
    content = f"text{delimiter}labels\none, two{delimiter}a|b\n"
    content = content.replace("one, two", "one two") if delimiter == "," else content
    dataset = parse(tmp_path, content, label_separator="|")
    assert labels(dataset) == [["a", "b"]]


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("a\tb\nc\td, e\n", "\t"),
        ('"a, b";x\n"c";y\n', ";"),
        ("a,b;c\nd,e;f\n", ","),
        ("only one column\nwith, one comma\n", ","),
        ("a,b,c\nragged,row\n", ","),
    ],
)
def test_guesses_without_column_names(tmp_path: Path, content: str, delimiter: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(content)
    assert guess_delimiter(path, ReadOptions()) == delimiter


def test_a_tsv_suffix_means_tabs_even_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "data.tsv.gz"
    path.write_bytes(gzip.compress(b"one, two\tx\nthree, four\ty\n"))
    assert read_delimited(path).texts == ("one, two", "three, four")


def test_without_column_names_the_text_is_first(tmp_path: Path) -> None:
    dataset = parse(tmp_path, "first,a\nsecond,b\n")
    assert dataset.texts == ("first", "second")
    assert labels(dataset) == [["a"], ["b"]]
    assert parse(tmp_path, "first\nsecond\n").texts == ("first", "second")


def test_columns_by_number(tmp_path: Path) -> None:
    dataset = parse(tmp_path, "1,a;b,x\n2,a,y\n", text_column="2", label_column="1", header="no")
    assert dataset.texts == ("x", "y")
    assert labels(dataset) == [["a", "b"], ["a"]]


def test_a_header_can_be_asserted_or_denied(tmp_path: Path) -> None:
    assert parse(tmp_path, "text,labels\na,b\n", header="no").texts == ("text", "a")
    named = parse(tmp_path, "x,y\na,b\n", header="yes", text_column="x", label_column="y")
    assert named.texts == ("a",)


def test_title_and_content_columns_are_joined(tmp_path: Path) -> None:
    dataset = parse(tmp_path, "title,content,labels\nt,c,a\nt,,a\n")
    assert dataset.texts == ("t c", "t")


def test_quotes_newlines_and_delimiters_inside_fields(tmp_path: Path) -> None:
    dataset = parse(tmp_path, 'text,labels\r\n"a ""b"", c\r\nd",x\r\n\r\n"",y\r\n')
    assert dataset.texts == ('a "b", c\r\nd', "")
    assert labels(dataset) == [["x"], ["y"]]


def test_byte_order_mark(tmp_path: Path) -> None:
    assert parse(tmp_path, b"\xef\xbb\xbftext,labels\na,b\n").texts == ("a",)


def test_spaces_around_labels_and_empty_labels_do_not_count(tmp_path: Path) -> None:
    dataset = parse(tmp_path, "text,labels\nt, a ; b;;a;\n")
    assert labels(dataset) == [["a", "b"]]


def test_labels_are_names_unless_told(tmp_path: Path) -> None:
    content = "text,labels\nt,3;1\n"
    assert parse(tmp_path, content).label_names == ("3", "1")
    assert parse(tmp_path, content, label_kind="ids").Y.indices.tolist() == [1, 3]


def test_the_separator_is_found_by_looking(tmp_path: Path) -> None:
    content = 'text,labels\nt,"a,b"\nu,"b,c"\nv,c\n'
    assert parse(tmp_path, content).label_names == ("a", "b", "c")
    assert parse(tmp_path, content, label_separator=";").label_names == ("a,b", "b,c", "c")


def test_a_separator_that_appears_late_is_noticed(tmp_path: Path) -> None:
    rows = "".join(f't,"a{i},b"\n' for i in range(1500))
    content = "text,labels\n" + "t,a\n" * 1000 + rows
    with pytest.raises(
        DataError, match="no field has it, and 1,500 of 1,501 .* ','.*set label_separator=','"
    ):
        parse(tmp_path, content)
    assert parse(tmp_path, content, label_separator=",").n_labels == 1502


def test_groups_are_separated_like_labels(tmp_path: Path) -> None:
    dataset = parse(tmp_path, "text,labels,group\nt,a,g;h\nu,b,\n")
    assert [dataset.group_names_of(i) for i in range(2)] == [["g", "h"], []]


@pytest.mark.parametrize("head", ["uid,text,labels", "title,labels,content", "text,other,more"])
def test_rows_all_at_once_and_one_by_one_agree(
    tmp_path: Path, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = head + "\n" + "".join(f"{i},a{i % 7};b,{'' if i % 3 else i}\n" for i in range(2500))
    quick = parse(tmp_path, content)
    monkeypatch.setattr(Table, "_all_at_once", lambda self, rows, roles: None)
    slow = parse(tmp_path, content)
    assert (quick.texts, quick.uids, quick.label_names) == (
        slow.texts,
        slow.uids,
        slow.label_names,
    )
    assert (quick.Y != slow.Y).nnz == 0


def test_over_a_given_label_space(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("text,labels\nt,b;new\n")
    dataset = read_delimited(path, labels=LabelSpace(["a", "b"]))
    assert dataset.Y.toarray().tolist() == [[0, 1]]
    assert dataset.report is not None
    assert dataset.report.unknown_labels == 1


HEAD = 'text,labels\n"two\nlines",a\n'
BAD_ROWS = {
    "too few fields": (b"x\n", r"4: the row has 1 fields \(got \['x'\]\); expected 2"),
    "too many fields": (b"x,a,b\n", "4: the row has 3 fields"),
    "text after quotes": (b'"x" y,a\n', "4: broken quoting .*expected after.*set quote=''"),
    "invalid UTF-8": (b"caf\xe9,a\n", "4: invalid UTF-8"),
    "invalid UTF-8 on a second line": (b'"x\ncaf\xe9",a\n', "5: invalid UTF-8"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_named_or_skipped(case: str, tmp_path: Path) -> None:
    row, message = BAD_ROWS[case]
    content = HEAD.encode() + row + b"good,b\n"
    with pytest.raises(DataError, match=f"data.csv:{message}"):
        parse(tmp_path, content)
    dataset = parse(tmp_path, content, on_error="skip")
    assert dataset.texts == ("two\nlines", "good")
    assert dataset.report is not None
    assert dataset.report.skipped == 1


def test_an_open_quote_is_named_by_the_line_it_opens_on(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data.csv:4: broken quoting .*unexpected end of data"):
        parse(tmp_path, HEAD + '"never closed,a\nmore\nand more\n')


def test_an_open_quote_does_not_swallow_without_end(tmp_path: Path) -> None:
    content = HEAD + '"never closed,a\n' + "more\n" * 100
    with pytest.raises(DataError, match="data.csv:4: .*a field is longer than max_line_bytes"):
        parse(tmp_path, content, max_line_bytes=64)


def test_long_texts_are_legal_and_the_global_limit_is_put_back(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    dataset = parse(tmp_path, f"text,labels\n{'x' * 200_000},a\n")
    assert dataset.texts is not None
    assert len(dataset.texts[0]) == 200_000
    assert csv.field_size_limit() == before


def test_quotes_can_mean_nothing(tmp_path: Path) -> None:
    dataset = parse(tmp_path, 'text\tlabels\n"Hello" he said\ta\n', quote="")
    assert dataset.texts == ('"Hello" he said',)


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        ("text,labels\n", {"label_column": "label"}, "no column 'label' .*did you mean 'labels'"),
        ("text,labels\n", {"text_column": "7"}, "data.csv:1: no column '7'"),
        ("labels,year\na,1\n", {}, r"no column holds the text \(got columns \['labels', 'year'"),
        ("a,b,c\n", {}, "3 columns without a known column name.*text_column"),
        ("text,labels\n", {}, "data.csv holds no instances"),
        ("", {}, "data.csv is empty"),
        ("text,uid\na,1\n", {"require_labels": True}, "has no labels"),
        ("text,labels\na,x\n", {"label_kind": "ids"}, r"data.csv:2: .*not an id \(got 'x'\)"),
    ],
)
def test_tables_that_do_not_fit(
    tmp_path: Path, content: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        parse(tmp_path, content, **settings)


def test_labels_that_would_not_come_back_are_refused(tmp_path: Path) -> None:
    dataset = parse(tmp_path, 'text,labels\nt,"a|b"\n', label_separator=";")
    write_delimited(dataset, tmp_path / "out.csv")
    with pytest.raises(DataError, match=r"label 'a\|b' between separators '\|'.*label_separator"):
        write_delimited(dataset, tmp_path / "no.csv", WriteOptions(label_separator="|"))
    assert not (tmp_path / "no.csv").exists()
