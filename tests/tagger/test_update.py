"""A fitted tagger takes further texts, new labels, and fewer labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, make_catalogue
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.models import built_in_models
from multitudes.tagger import Tagger

from .centroids import LABELS, TEXTS, Centroids

OVER_FEATURES = sorted(n for n, spec in built_in_models().items() if spec.reads == "features")


@pytest.fixture(scope="module")
def shop():
    """Texts and label names of 1,500 catalogue lines."""
    made = make_catalogue(1_500, n_labels=60, random_state=2).dataset
    names = made.label_names
    lists = [
        [names[label] for label in made.Y.indices[start:stop]]
        for start, stop in zip(made.Y.indptr[:-1], made.Y.indptr[1:], strict=True)
    ]
    return made.texts, lists


@pytest.fixture(scope="module")
def held_out(shop):
    """The three most frequent labels."""
    names, counts = np.unique([name for row in shop[1] for name in row], return_counts=True)
    return sorted(names[np.argsort(-counts)[:3]].tolist())


@pytest.fixture(params=[*OVER_FEATURES, "xr-linear with overlap"])
def small(request, shop, held_out):
    """A tagger of each kind that does not know the labels held out."""
    texts, lists = shop
    name, _, overlap = request.param.partition(" with ")
    settings = {} if name == "one-vs-all" else {"max_leaf_size": 10}
    fewer = [[name for name in row if name not in held_out] for row in lists]
    return Tagger(name, settings=settings | ({overlap: 2} if overlap else {})).fit(texts, fewer)


def found(tagger, texts, lists, names):
    """Share of the texts with one of these names that get it among their best five."""
    carrying = [i for i, row in enumerate(lists) if set(row) & set(names)]
    tags = tagger.predict([texts[i] for i in carrying], top_k=5)
    hits = [
        bool({tag.label for tag in own} & set(lists[i]) & set(names))
        for i, own in zip(carrying, tags, strict=True)
    ]
    return np.mean(hits)


def test_new_labels_are_appended_and_found(small, shop, held_out):
    texts, lists = shop
    old = small.classes_
    assert small.add_labels(texts, lists) is small
    assert small.classes_ == (*old, *held_out)
    assert found(small, texts, lists, held_out) > 0.5
    assert found(small, texts, lists, old) > 0.8


def test_a_grown_tagger_explains_and_comes_back_from_disk(small, shop, held_out, tmp_path):
    texts, lists = shop
    small.add_labels(texts, lists)
    assert small.explain(texts[0], held_out[0]).label == held_out[0]
    small.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.classes_ == small.classes_
    assert again.predict(texts[:50]) == small.predict(texts[:50])
    assert again.add_labels(texts[:1], [["quite new"]]).classes_[-1] == "quite new"


def test_removing_what_was_added_undoes_it(small, shop, held_out):
    texts, lists = shop
    old, before = small.classes_, small.predict(texts[:100])
    small.add_labels(texts, lists)
    assert small.remove_labels(held_out) is small
    assert small.classes_ == old
    assert small.predict(texts[:100]) == before


def test_names_follow_their_labels_when_others_go(small, shop):
    texts, _ = shop
    before = small.predict(texts[:100], top_k=3)
    gone = sorted({tags[0].label for tags in before})[::2]
    small.remove_labels([*gone, gone[0]])
    assert not set(gone) & set(small.classes_)
    for tags, earlier in zip(small.predict(texts[:100], top_k=3), before, strict=True):
        stayed = [tag for tag in earlier if tag.label not in gone]
        first = tags[: len(stayed)]
        assert [tag.label for tag in first] == [tag.label for tag in stayed]
        np.testing.assert_allclose(
            [tag.score for tag in first], [tag.score for tag in stayed], rtol=1e-4
        )


def test_further_texts_are_learned(shop):
    texts, lists = shop
    names = sorted({name for row in lists for name in row})
    Y = sp.csr_array([[float(name in row) for name in names] for row in lists[:400]])
    tagger = Tagger("xr-linear", settings={"max_leaf_size": 10})
    tagger.fit(texts[:400], Y, label_names=names)
    before = found(tagger, texts[400:], lists[400:], names)
    assert tagger.partial_fit(texts[400:], lists[400:]) is tagger
    assert found(tagger, texts[400:], lists[400:], names) > before
    assert tagger.classes_ == tuple(names)


def test_a_first_partial_fit_is_fit():
    tagger = Tagger("one-vs-all").partial_fit(TEXTS, LABELS)
    assert tagger.predict(TEXTS) == Tagger("one-vs-all").fit(TEXTS, LABELS).predict(TEXTS)


def test_a_tagger_of_features_takes_rows_of_x():
    X = sp.csr_array(np.eye(4, dtype=np.float32))
    Y = sp.csr_array(np.eye(4, dtype=np.float32)[:, :3])
    tagger = Tagger("one-vs-all").fit(Dataset(Y=Y, X=X, label_names=["a", "b", "c"]))
    tagger.add_labels(X, [["a"], ["b"], ["c"], ["d"]])
    assert tagger.classes_ == ("a", "b", "c", "d")
    assert [tags[0].label for tags in tagger.predict(X, top_k=1)] == ["a", "b", "c", "d"]
    tagger.partial_fit(X, [["a"], ["b"], ["c"], ["a"]])
    with pytest.raises(DataError, match="got 4 texts and 1 lists"):
        tagger.partial_fit(X, [["a"]])
    with pytest.raises(DataError, match="fitted on features X"):
        tagger.add_labels(["a text"], [["e"]])


@pytest.mark.parametrize("method", ["add_labels", "partial_fit", "remove_labels"])
def test_models_that_cannot_change_say_so(method):
    tagger = Tagger(Centroids()).fit(TEXTS, LABELS)
    given = (["red"],) if method == "remove_labels" else (TEXTS, LABELS)
    with pytest.raises(ConfigError, match=f"Centroids has no {method}: fit again"):
        getattr(tagger, method)(*given)


@pytest.fixture
def fitted():
    return Tagger("one-vs-all").fit(TEXTS, LABELS)


def test_a_new_label_is_not_for_partial_fit(fitted):
    with pytest.raises(DataError, match="1 labels are new .*'blue'.* use add_labels"):
        fitted.partial_fit(["a blue belt"], [["clothing", "blue"]])


def test_known_labels_alone_are_not_for_add_labels(fitted):
    with pytest.raises(DataError, match="none of the labels is new: .* use partial_fit"):
        fitted.add_labels(TEXTS, LABELS)


@pytest.mark.parametrize("method", ["add_labels", "partial_fit"])
@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], [["red"]], "got 2 texts and 1 lists"),
        ("a text", [["red"]], "got the single str .a text.: wrap it in a list"),
        (["a"], ["red"], r"labels\[0\] must be a list of label names, got 'red'"),
        (["a"], [[3]], r"labels\[0\] holds 3 \(int\)"),
        (["a"], sp.csr_array([[1.0]]), "1 columns without names, but the tagger has 4 labels"),
    ],
)
def test_texts_and_labels_are_checked(fitted, method, texts, labels, message):
    with pytest.raises(DataError, match=message):
        getattr(fitted, method)(texts, labels)
    assert fitted.classes_ == ("clothing", "fruit", "machines", "red")


def test_names_to_remove_are_checked(fitted):
    with pytest.raises(DataError, match="there is no label 'frut' .* did you mean 'fruit'"):
        fitted.remove_labels(["red", "frut"])
    with pytest.raises(DataError, match=r"got one str: write \[label\]"):
        fitted.remove_labels("red")
    with pytest.raises(DataError, match="all labels would be removed"):
        fitted.remove_labels(fitted.classes_)
    assert len(fitted.classes_) == fitted.model_.n_labels_ == 4


def test_an_unfitted_tagger_has_nothing_to_change():
    with pytest.raises(NotFittedError):
        Tagger().add_labels(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        Tagger().remove_labels(["red"])
