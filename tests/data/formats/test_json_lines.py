"""JSON lines: what is read, what is refused and how, and that both ways of reading agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitudes.data import Dataset, LabelSpace, ReadOptions, WriteOptions
from multitudes.data.formats import json_lines as module
from multitudes.data.formats.json_lines import read_json_lines, write_json_lines
from multitudes.errors import DataError

Write = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> Write:
    """Write lines, given as objects, strings or bytes, to a file."""

    def write(*lines: Any, end: bytes = b"\n") -> Path:
        path = tmp_path / "data.jsonl"
        data = [
            line
            if isinstance(line, bytes)
            else (line if isinstance(line, str) else json.dumps(line)).encode()
            for line in lines
        ]
        path.write_bytes(end.join([*data, b""]))
        return path

    return write


def labels(dataset: Dataset) -> list[list[str]]:
    return [dataset.labels_of(i) for i in range(len(dataset))]


def test_texts_and_label_names(file: Write) -> None:
    path = file(
        {"text": "leather belt", "labels": ["belt", "fashion"]},
        {"text": "asteroid belt", "labels": ["belt"]},
        {"text": "", "labels": []},
    )
    dataset = read_json_lines(path)
    assert dataset.texts == ("leather belt", "asteroid belt", "")
    assert dataset.label_names == ("belt", "fashion")
    assert dataset.Y.toarray().tolist() == [[1, 1], [1, 0], [0, 0]]
    assert dataset.uids is None
    assert dataset.groups is None
    assert not dataset.report


def test_title_and_content_are_joined_by_a_space_unless_one_is_empty(file: Write) -> None:
    path = file(
        {"title": "a", "content": "b"},
        {"title": "a", "content": ""},
        {"title": "", "content": "b"},
        {"title": "a"},
        {"content": "b"},
        {"title": "a", "text": "t"},
    )
    assert read_json_lines(path).texts == ("a b", "a", "b", "a", "b", "a t")
    with pytest.raises(DataError, match="data.jsonl:5: the text is missing.*expected 'title'"):
        read_json_lines(path, ReadOptions(text_column="title"))


def test_label_ids_stand_for_themselves(file: Write) -> None:
    path = file({"text": "", "labels": [4, 0]}, {"text": "", "target_ind": [1]})
    dataset = read_json_lines(path)
    assert dataset.label_names is None
    assert dataset.Y.toarray().tolist() == [[1, 0, 0, 0, 1], [0, 1, 0, 0, 0]]
    assert read_json_lines(path, ReadOptions(n_labels=9)).n_labels == 9
    named = read_json_lines(path, ReadOptions(label_kind="names"))
    assert named.label_names == ("4", "0", "1")


def test_strings_may_be_ids_if_told(file: Write) -> None:
    path = file({"text": "", "labels": ["3", "0"]})
    assert read_json_lines(path, ReadOptions(label_kind="ids")).Y.indices.tolist() == [0, 3]


def test_a_label_listed_twice_counts_once(file: Write) -> None:
    dataset = read_json_lines(file({"text": "", "labels": ["a", "b", "a"]}))
    assert dataset.Y.toarray().tolist() == [[1, 1]]


def test_uids_and_groups(file: Write) -> None:
    path = file(
        {"uid": "u1", "text": "", "group": "g"},
        {"uid": 2, "text": "", "group": [7, "g"]},
        {"id": "u3", "text": ""},
    )
    dataset = read_json_lines(path)
    assert dataset.uids == ("u1", "2", "u3")
    assert dataset.group_names == ("g", "7")
    assert dataset.groups is not None
    assert dataset.groups.toarray().tolist() == [[1, 0], [1, 1], [0, 0]]


def test_other_field_names(file: Write) -> None:
    path = file({"body": "t", "tags": ["a"], "key": "k", "set": "s", "text": "no"})
    options = ReadOptions(
        text_column="body", label_column="tags", uid_column="key", group_column="set"
    )
    dataset = read_json_lines(path, options)
    assert (dataset.texts, dataset.uids) == (("t",), ("k",))
    assert (dataset.label_names, dataset.group_names) == (("a",), ("s",))


def test_byte_order_mark_crlf_and_blank_lines(file: Write) -> None:
    path = file(b'\xef\xbb\xbf{"text": "a"}', b"", b'{"text": "b"}', b"  ", end=b"\r\n")
    assert read_json_lines(path).texts == ("a", "b")


def test_no_newline_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "b"}')
    assert read_json_lines(path).texts == ("a", "b")


def test_newlines_inside_texts_are_kept(file: Write) -> None:
    path = file({"text": "a\nb\u2028c"})
    assert read_json_lines(path).texts == ("a\nb\u2028c",)


GOOD = {"text": "fine", "labels": ["a"]}
BAD_LINES = {
    "broken JSON": (b'{"text": "x", "labels": ["a"}', "broken JSON at column 29"),
    "cut off": (b'{"text": "x', "broken JSON"),
    "not an object": (b'["x"]', r"JSON but not an object \(got \['x'\]\)"),
    "object over lines": (b"{", "must be on one line.*jq -c"),
    "missing text": ({"labels": ["a"]}, r"text is missing \(got fields \['labels'\]\).*text_col"),
    "text not a string": ({"text": 3, "labels": []}, r"'text' is not a text \(got 3\)"),
    "null text": ({"text": None, "labels": []}, r"'text' is not a text \(got None\)"),
    "missing labels": ({"text": "x"}, r"'labels' is missing.*write \[\] for no labels"),
    "labels a string": ({"text": "x", "labels": "a"}, r"not a list \(got 'a'\).*write \['a'\]"),
    "labels null": ({"text": "x", "labels": None}, r"'labels' is not a list \(got None\)"),
    "label a float": ({"text": "x", "labels": [1.5]}, r"neither a name nor an id \(got 1.5\)"),
    "label a bool": ({"text": "x", "labels": [True]}, r"neither a name nor an id \(got True\)"),
    "label a list": ({"text": "x", "labels": [["a"]]}, r"neither a name nor an id \(got \['a'\]"),
    "label empty": ({"text": "x", "labels": [""]}, "a label is empty"),
    "mixed kinds": ({"text": "x", "labels": [3]}, r"mixed \(got 3 in a file of names\)"),
    "invalid UTF-8": (b'{"text": "caf\xe9", "labels": []}', "invalid UTF-8 at byte 14.*iconv"),
    "uid appears": ({"uid": 1, "text": "x", "labels": []}, "'uid' appears.*earlier lines lack"),
    "group a float": ({"text": "x", "labels": [], "group": 0.5}, r"not an id \(got 0.5\)"),
    "NaN": (b'{"text": "x", "labels": [NaN]}', "broken JSON"),
}


@pytest.mark.parametrize("case", BAD_LINES)
@pytest.mark.parametrize("n_before", [1, 3000], ids=["early", "late"])
def test_a_bad_line_is_named_or_skipped(case: str, n_before: int, file: Write) -> None:
    line, message = BAD_LINES[case]
    path = file(*[GOOD] * n_before, line, GOOD)
    with pytest.raises(DataError, match=f"data.jsonl:{n_before + 1}: .*{message}"):
        read_json_lines(path)
    dataset = read_json_lines(path, ReadOptions(on_error="skip"))
    assert len(dataset) == n_before + 1
    assert dataset.report is not None
    assert dataset.report.skipped == 1
    assert f"data.jsonl:{n_before + 1}: " in str(dataset.report)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (-1, r"out of range \(got -1\)"),
        (2**31, r"out of range \(got 2147483648\); expected 0 to 2,147,483,646"),
        (2**63, "out of range"),
        ("a", r"mixed \(got 'a' in a file of ids\)"),
    ],
)
def test_bad_ids(label: object, message: str, file: Write) -> None:
    path = file({"text": "", "labels": [0]}, {"text": "", "labels": [label]})
    with pytest.raises(DataError, match=f"data.jsonl:2: .*{message}"):
        read_json_lines(path)


def test_ids_must_lie_in_the_label_space(file: Write) -> None:
    path = file({"text": "", "labels": [1]}, {"text": "", "labels": [2]})
    with pytest.raises(DataError, match=r"data.jsonl:2: .*\(got 2\); expected 0 to 1"):
        read_json_lines(path, labels=LabelSpace(["a", "b"]))
    with pytest.raises(DataError, match=r"data.jsonl:2: .*\(got 2\); expected 0 to 1"):
        read_json_lines(path, ReadOptions(n_labels=2))


def test_a_file_over_a_given_label_space(file: Write) -> None:
    path = file({"text": "", "labels": ["b", "new"]}, {"text": "", "labels": ["newer", "new"]})
    space = LabelSpace(["a", "b"], ["text of a", "text of b"])
    dataset = read_json_lines(path, labels=space)
    assert dataset.Y.toarray().tolist() == [[0, 1], [0, 0]]
    assert dataset.label_texts == ("text of a", "text of b")
    assert dataset.report is not None
    assert dataset.report.unknown_labels == 3
    assert dataset.report.unknown_label_examples == ("new", "newer")
    assert "dropped 3 labels of unknown name: 'new', 'newer'" in str(dataset.report)
    with pytest.raises(DataError, match=r"data.jsonl:1: .*not in the label space \(got 'new'\)"):
        read_json_lines(path, ReadOptions(unknown_labels="raise"), labels=space)


def test_only_blank_or_bad_lines_is_an_error(file: Write) -> None:
    with pytest.raises(DataError, match="data.jsonl holds no instances"):
        read_json_lines(file("", "  "))
    with pytest.raises(DataError, match=r"no instances \(2 bad lines skipped\): .*:1: broken"):
        read_json_lines(file("x", "y"), ReadOptions(on_error="skip"))


def test_labels_can_be_required(file: Write) -> None:
    path = file({"text": "a", "marks": ["x"]})
    assert read_json_lines(path).n_labels == 0
    with pytest.raises(DataError, match=r"no labels \(it has \['text', 'marks'\]\).*label_column"):
        read_json_lines(path, ReadOptions(require_labels=True))


def test_an_over_long_line_is_skipped_and_later_line_numbers_hold(file: Write) -> None:
    path = file(GOOD, {"text": "x" * 500, "labels": []}, GOOD, "broken")
    options = ReadOptions(max_line_bytes=100, on_error="skip")
    report = read_json_lines(path, options).report
    assert report is not None
    assert report.skipped == 2
    assert "data.jsonl:2: the line is longer" in report.skipped_examples[0]
    assert "data.jsonl:4: broken JSON" in report.skipped_examples[1]


def test_the_report_keeps_few_examples(file: Write) -> None:
    report = read_json_lines(file(GOOD, *["bad"] * 50), ReadOptions(on_error="skip")).report
    assert report is not None
    assert (report.skipped, len(report.skipped_examples)) == (50, 5)


LABEL_LISTS = st.one_of(
    st.lists(st.lists(st.sampled_from(["a", "b", "ü"]), max_size=4), min_size=1, max_size=30),
    st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=30),
)


@settings(max_examples=50, deadline=None)
@given(rows=LABEL_LISTS, with_uid=st.booleans(), data=st.data())
def test_reading_all_at_once_and_one_by_one_agree(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[Any]],
    with_uid: bool,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("json") / "data.jsonl"
    records = []
    for i, row in enumerate(rows):
        texts = data.draw(st.sampled_from([("text",), ("title", "content"), ("title",)]))
        record: dict[str, Any] = {name: f"{name} {i}" for name in texts}
        record |= {"labels": row} | ({"uid": i} if with_uid else {})
        records.append(record | data.draw(st.sampled_from([{}, {"group": "g"}, {"other": 1}])))
    path.write_bytes(b"".join(orjson.dumps(r, option=orjson.OPT_APPEND_NEWLINE) for r in records))
    quick = read_json_lines(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.JsonLinesReader, "_all_at_once", lambda self, lines: None)
        slow = read_json_lines(path)
    assert quick.texts == slow.texts
    assert quick.uids == slow.uids
    assert quick.label_names == slow.label_names
    assert quick.group_names == slow.group_names
    np.testing.assert_array_equal(quick.Y.toarray(), slow.Y.toarray())
    assert [quick.group_names_of(i) for i in range(len(quick))] == [
        record.get("group", "").split() for record in records
    ]


def test_usual_files_take_the_quick_way(file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(*[{"uid": "u", "title": "t", "content": "", "labels": [i % 7]} for i in range(50)])
    monkeypatch.delattr(module.JsonLinesReader, "_one_by_one")
    assert len(read_json_lines(path)) == 50


def test_ids_or_names_are_written_as_asked(tmp_path: Path, file: Write) -> None:
    dataset = read_json_lines(file(GOOD, {"text": "ü", "labels": ["b", "a"]}))
    path = tmp_path / "out.jsonl.gz"
    write_json_lines(dataset, path)
    assert labels(read_json_lines(path)) == [["a"], ["a", "b"]]
    write_json_lines(dataset, path, WriteOptions(label_kind="ids"))
    again = read_json_lines(path)
    assert again.label_names is None
    np.testing.assert_array_equal(again.Y.toarray(), dataset.Y.toarray())


def test_features_cannot_be_written_as_json_lines(tmp_path: Path) -> None:
    import scipy.sparse as sp

    dataset = Dataset(Y=sp.csr_array((1, 1)), X=sp.csr_array((1, 1)))
    with pytest.raises(DataError, match="cannot write features as json-lines.*sparse-text, npz"):
        write_json_lines(dataset, tmp_path / "out.jsonl")


def test_half_characters_cannot_be_written(tmp_path: Path) -> None:
    import scipy.sparse as sp

    dataset = Dataset(Y=sp.csr_array((1, 1)), texts=["\ud800"])
    with pytest.raises(DataError, match="lone surrogate"):
        write_json_lines(dataset, tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []
