"""Datasets of lists, of frames of pandas and polars, and of Hugging Face."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset
from multitudes.errors import DataError

TEXTS = ["a red apple", "a red belt", "nothing"]
NAMES = [["fruit", "red"], ["belts", "red"], []]


def rows(dataset: Dataset) -> list[list[str]]:
    return [dataset.labels_of(row) for row in range(len(dataset))]


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame({"text": TEXTS} | columns)


def assert_same(dataset: Dataset) -> None:
    assert list(dataset.texts) == TEXTS
    assert rows(dataset) == [sorted(row) for row in NAMES]
    assert dataset.label_names == ("belts", "fruit", "red")


# --- lists


def test_lists():
    data = Dataset.from_lists(TEXTS, NAMES, uids=["x", "y", "z"])
    assert_same(data)
    assert data.uids == ("x", "y", "z")
    assert repr(data) == "Dataset: 3 instances, 3 labels, 1.3 labels per instance, texts"


def test_a_label_space_of_ones_own_keeps_its_order():
    data = Dataset.from_lists(TEXTS, NAMES, label_names=["red", "green", "fruit", "belts"])
    assert data.label_names == ("red", "green", "fruit", "belts")
    assert rows(data) == [["red", "fruit"], ["red", "belts"], []]


def test_texts_of_labels_by_name_and_in_order():
    by_name = Dataset.from_lists(TEXTS, NAMES, label_texts={"red": "the color"})
    assert by_name.label_texts == ("belts", "fruit", "the color")
    in_order = Dataset.from_lists(TEXTS, NAMES, label_texts=["B", "F", "R"])
    assert in_order.label_texts == ("B", "F", "R")


@pytest.mark.parametrize("make", [np.array, sp.csr_array, sp.coo_matrix])
def test_a_matrix(make):
    Y = make([[0, 1, 1], [1, 0, 1], [0, 0, 0]])
    assert_same(Dataset.from_lists(TEXTS, Y, label_names=["belts", "fruit", "red"]))
    assert Dataset.from_lists(TEXTS, Y).label_names is None


def test_columns_of_a_frame_name_the_labels():
    Y = pd.DataFrame({"belts": [0, 1, 0], "fruit": [1, 0, 0], "red": [True, True, False]})
    assert_same(Dataset.from_lists(TEXTS, Y.astype(int)))
    polars = pytest.importorskip("polars")
    assert_same(Dataset.from_lists(TEXTS, polars.DataFrame(Y.astype(int).to_dict("list"))))


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (NAMES[:2], None, "one list of labels per text, got 3 texts and 2 lists"),
        ([["a"], "b", []], None, r"labels\[1\] must be a list of label names, got 'b'.*\[label\]"),
        (["a|b", [], []], None, r"labels\[0\] .*got 'a|b': divide it, text.split\('|'\)"),
        ([["a"], None, []], None, r"labels\[1\] .*got None: for no label write \[\]"),
        ([["a"], [3], []], None, r"labels\[1\] holds 3 \(int\); label names are str"),
        ([["a"], ["c"], []], ["a", "b"], "label 'c' is not among the 2 label_names"),
        (np.ones((3, 2)), ["a"], r"one name per column of the labels \(2\), got 1"),
        (-np.ones((3, 2)), None, "labels has NaN, infinite or negative values"),
        (3, None, "labels must be one list of label names per text, or a matrix .*got 3"),
    ],
)
def test_labels_that_cannot_be_used(labels, names, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_lists(TEXTS, labels, label_names=names)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "the single str 'one text': wrap it in a list"),
        ({"text": TEXTS}, "expected a sequence of texts, got dict: pass a list of str"),
        (np.ones((3, 2)), r"got ndarray\(3, 2\): .*features X go into Dataset\(X=..., Y=...\)"),
        (None, "got NoneType"),
        (pd.DataFrame({"text": TEXTS}), r"got a whole table \(DataFrame\): pass table\[column\]"),
        (["a", None, "c"], "texts must be strings, got None at position 1"),
    ],
)
def test_texts_that_cannot_be_used(texts, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_lists(texts, NAMES)


# --- frames


def test_a_column_of_lists_or_of_texts_with_a_separator():
    assert_same(Dataset.from_pandas(frame(tags=NAMES), text="text", labels="tags"))
    joined = frame(tags=["fruit; red", "belts;red;", None])
    assert_same(Dataset.from_pandas(joined, text="text", labels="tags", separator=";"))


def test_missing_labels_are_no_labels():
    for nothing in (None, float("nan"), pd.NA):
        data = frame(tags=pd.Series([*NAMES[:2], nothing], dtype=object))
        assert_same(Dataset.from_pandas(data, text="text", labels="tags"))


def test_columns_of_zeros_and_ones():
    data = frame(red=[1, 1, 0], fruit=[1.0, 0.0, 0.0], belts=[False, True, False])
    found = Dataset.from_pandas(data, text="text", labels=["belts", "fruit", "red"])
    assert_same(found)
    assert found.Y.dtype == np.float32


def test_several_columns_of_text_are_joined_without_missing_ones():
    data = pd.DataFrame({"title": ["A", None, "C"], "text": ["a", "b", ""], "tags": NAMES})
    found = Dataset.from_pandas(data, text=["title", "text"], labels="tags", uid="title")
    assert found.texts == ("A a", "b", "C")
    assert len(found.uids) == 3


def test_columns_may_have_numbers_for_names():
    data = pd.DataFrame({0: TEXTS, 1: NAMES})
    assert_same(Dataset.from_pandas(data, text=0, labels=1))


def test_polars_and_pyarrow():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"text": TEXTS, "tags": NAMES})
    for one in (table, table.lazy(), table.to_arrow()):
        assert_same(Dataset.from_pandas(one, text="text", labels="tags"))


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ({"tags": NAMES}, {"text": "txt"}, "no column 'txt': did you mean 'text'"),
        ({"tags": NAMES}, {"labels": "label"}, "no column 'label': known: tags, text"),
        ({"tags": ["a|b", "c", "d"]}, {}, r"column 'tags' holds texts \('a|b'\).*separator='\|'"),
        ({"tags": ["a b", "c", "d"]}, {}, "if each is one label, any mark will do"),
        ({"tags": ["['a', 'b']", "['c']", "[]"]}, {"separator": ","}, "ast.literal_eval"),
        ({"tags": NAMES}, {"separator": ""}, "separator must not be empty"),
        ({"tags": [1, 2, 3]}, {}, "row 0 of column 'tags' must be a list of label names, got 1"),
        ({"tags": [0, 2, 1]}, {"labels": ["tags"]}, "row 1 of column 'tags' holds 2: several"),
        ({"tags": NAMES, "more": [None] * 3}, {"text": "more"}, "row 0 has no text in column 'm"),
        ({"tags": NAMES, "more": [1, 2, 3]}, {"text": "more"}, "row 0 of column 'more' holds 1"),
        ({"tags": NAMES}, {"labels": []}, "must name at least one column"),
    ],
)
def test_frames_that_cannot_be_used(columns, settings, message):
    with pytest.raises(DataError, match=message):
        Dataset.from_pandas(frame(**columns), **{"text": "text", "labels": "tags"} | settings)


def test_a_name_for_two_columns():
    twice = pd.concat([frame(tags=NAMES), frame()], axis=1)
    with pytest.raises(DataError, match="several columns 'text': rename"):
        Dataset.from_pandas(twice, text="text", labels="tags")


def test_something_else_than_a_frame():
    with pytest.raises(DataError, match="from_pandas takes a DataFrame .*got list: for lists use"):
        Dataset.from_pandas(TEXTS, text="text", labels="tags")
    with pytest.raises(DataError, match="from_huggingface takes a datasets.Dataset, got DataFrame"):
        Dataset.from_huggingface(frame(), text="text", labels="tags")


# --- Hugging Face


class Stream:
    """What is needed of an IterableDataset: names of columns, features, and rows."""

    column_names = ["text", "tags"]
    features = None

    def __iter__(self):
        return ({"text": text, "tags": tags} for text, tags in zip(TEXTS, NAMES, strict=True))


def test_a_stream_of_rows():
    assert_same(Dataset.from_huggingface(Stream(), text="text", labels="tags"))


def test_columns_of_hugging_face():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"text": TEXTS, "tags": NAMES})
    for one in (data, data.to_iterable_dataset()):
        assert_same(Dataset.from_huggingface(one, text="text", labels="tags"))
    assert_same(Dataset.from_lists(data["text"], data["tags"]))
    splits = datasets.DatasetDict({"train": data})
    with pytest.raises(DataError, match="several splits .'train'.: give one of them"):
        Dataset.from_huggingface(splits, text="text", labels="tags")


def test_numbers_that_have_names():
    datasets = pytest.importorskip("datasets")
    label = datasets.ClassLabel(names=["no", "yes"])
    features = datasets.Features(
        {"text": datasets.Value("string"), "one": label, "some": datasets.List(label)}
    )
    columns = {"text": TEXTS, "one": [1, 0, 1], "some": [[0, 1], [], [1]]}
    data = datasets.Dataset.from_dict(columns, features=features)
    one = Dataset.from_huggingface(data, text="text", labels="one")
    assert rows(one) == [["yes"], ["no"], ["yes"]]
    some = Dataset.from_huggingface(data, text="text", labels="some")
    assert rows(some) == [["no", "yes"], [], ["yes"]]
    unlabeled = datasets.Dataset.from_dict(columns | {"one": [1, -1, 1]}, features=features)
    with pytest.raises(DataError, match="row 1 of column 'one' holds label -1, of 2 that have"):
        Dataset.from_huggingface(unlabeled, text="text", labels="one")


def test_a_matrix_is_no_column():
    with pytest.raises(DataError, match="expected a list or a column, got csr_array"):
        Dataset.from_lists(["a b"], [["x"]], uids=sp.csr_array((1, 3)))
