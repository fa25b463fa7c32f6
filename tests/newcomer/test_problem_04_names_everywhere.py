"""Problem 4: label names ended at fit and predict; frames and Hugging Face data were refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from multitudes import DataError, Dataset, Tagger, evaluate
from multitudes.data import make_catalogue

SHOP = make_catalogue(300, n_labels=12, random_state=1).dataset
TEXTS = list(SHOP.texts)
NAMES = [SHOP.labels_of(row) for row in range(len(SHOP))]
SPACE = list(SHOP.label_names)
FRAME = pd.DataFrame({"text": TEXTS, "labels": NAMES, "joined": [";".join(row) for row in NAMES]})


def polars_columns():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"text": TEXTS, "labels": NAMES})
    return frame["text"], frame["labels"]


def polars_frame():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"text": TEXTS, "labels": NAMES})
    return Dataset.from_pandas(frame, text="text", labels="labels"), None


def huggingface():
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict({"text": TEXTS, "labels": NAMES})


def huggingface_columns():
    data = huggingface()
    return data["text"], data["labels"]


def huggingface_data():
    return Dataset.from_huggingface(huggingface(), text="text", labels="labels"), None


def arrow_columns():
    pa = pytest.importorskip("pyarrow")
    return pa.chunked_array([TEXTS]), pa.array(NAMES)


def dense():
    return SHOP.Y.toarray().astype(int)


FORMS = {
    "lists": lambda: (TEXTS, NAMES),
    "tuples": lambda: (tuple(TEXTS), [tuple(row) for row in NAMES]),
    "arrays": lambda: (np.array(TEXTS, object), FRAME["labels"].to_numpy()),
    "columns of pandas": lambda: (FRAME["text"], FRAME["labels"]),
    "columns of polars": polars_columns,
    "columns of Hugging Face": huggingface_columns,
    "columns of pyarrow": arrow_columns,
    "dense": lambda: (TEXTS, pd.DataFrame(dense(), columns=SPACE)),
    "a Dataset": lambda: (Dataset.from_lists(TEXTS, NAMES), None),
    "a frame of pandas": lambda: (
        Dataset.from_pandas(FRAME, text="text", labels="joined", separator=";"),
        None,
    ),
    "a frame of polars": polars_frame,
    "Hugging Face": huggingface_data,
}


@pytest.fixture(scope="module")
def tagger():
    return Tagger("one-vs-all", n_jobs=1).fit(TEXTS, NAMES)


@pytest.mark.parametrize("form", FORMS)
def test_every_method_takes_every_form(form, tagger):
    texts, labels = FORMS[form]()
    again = Tagger("one-vs-all", n_jobs=1).fit(texts, labels)
    assert again.predict(texts) == tagger.predict(TEXTS)
    report = again.evaluate(texts, labels, ks=(1, 3))
    assert report["P@1"] == again.score(texts, labels) == tagger.score(TEXTS, NAMES)
    assert report["P@1"] > 0.3
    assert again.calibrate(texts, labels).predict_proba(TEXTS[:1])[0][0].score <= 1
    assert again.partial_fit(texts, labels).calibrated_ is None


@pytest.mark.parametrize("form", FORMS)
def test_new_labels_come_in_every_form(form):
    texts, labels = FORMS[form]()
    fewer = [[name for name in row if name != SPACE[0]] for row in NAMES]
    tagger = Tagger("one-vs-all", n_jobs=1).fit(TEXTS, fewer)
    assert SPACE[0] not in tagger.classes_
    assert tagger.add_labels(texts, labels).classes_[-1] == SPACE[0]


def test_evaluate_takes_tags_and_names(tagger):
    report = evaluate(tagger.predict(TEXTS), NAMES, ks=(1,))
    assert report["P@1"] == pytest.approx(tagger.score(TEXTS, NAMES))


@pytest.mark.parametrize("Y", [dense(), dense().astype(bool), sp.csr_matrix(dense()), SHOP.Y])
def test_a_matrix_of_labels_with_names_and_without(tagger, Y):
    named = Tagger("one-vs-all", n_jobs=1).fit(TEXTS, Y, label_names=SPACE)
    assert named.classes_ == tuple(SPACE)
    assert named.score(TEXTS, Y) == named.score(TEXTS, NAMES) == tagger.score(TEXTS, NAMES)
    numbers = Tagger("one-vs-all", n_jobs=1).fit(TEXTS, Y)
    assert numbers.classes_[:2] == ("0", "1")
    assert numbers.score(TEXTS, Y) == named.score(TEXTS, Y)
    with pytest.raises(DataError, match="3 columns without names, but the tagger has 12 labels"):
        numbers.score(TEXTS, Y[:, :3])


def test_validation_data_may_be_texts_and_labels_too():
    tagger = Tagger("one-vs-all").fit(
        TEXTS[:200], NAMES[:200], validation=(TEXTS[200:], NAMES[200:])
    )
    assert len(tagger.classes_) == 12


@pytest.mark.parametrize("method", ["fit", "evaluate", "score", "calibrate", "partial_fit"])
def test_a_whole_table_is_told_how_to_become_a_dataset(tagger, method):
    with pytest.raises(DataError, match=r"Dataset.from_pandas\(frame, text=..., labels=...\)"):
        getattr(tagger, method)(FRAME)
    with pytest.raises(DataError, match=r"Dataset.from_pandas\(frame, text=..., labels=...\)"):
        getattr(tagger, method)(FRAME, NAMES)
    with pytest.raises(DataError, match=r"Dataset.from_huggingface\(data, text=..., labels=...\)"):
        getattr(tagger, method)(huggingface())


def test_a_whole_table_cannot_be_tagged(tagger):
    with pytest.raises(
        DataError, match=r"one column of texts, got a whole table .*table\[column\]"
    ):
        tagger.predict(FRAME)


def test_tables_come_out(tagger):
    index = [f"line {row}" for row in range(5)]
    frame = tagger.predict(TEXTS[:5], top_k=2).to_frame(rows=index)
    assert frame.columns.tolist() == ["row", "rank", "label", "score"]
    assert frame["row"].tolist() == np.repeat(index, 2).tolist()
    ids = tagger.predict_ids(TEXTS[:5], top_k=2)
    assert ids.to_frame(tagger.classes_)["label"].tolist() == frame["label"].tolist()
    assert ids.to_lists(tagger.classes_) == tagger.predict(TEXTS[:5], top_k=2).to_lists()
