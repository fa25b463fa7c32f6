from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV

from multitudes.data import Dataset
from multitudes.errors import ConfigError, DataError, NotFittedError, StoreError
from multitudes.features import PassThrough, TfidfFeatures
from multitudes.store import save
from multitudes.tagger import Tag, Tagger

from .centroids import LABELS, TEXTS, Centroids


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(Centroids()).fit(TEXTS, LABELS)


def test_tags_by_name_best_first(tagger):
    (tags,) = tagger.predict(["an apple"], top_k=2)
    assert tags[0].label == "fruit"
    assert tags[0].score > tags[1].score
    assert isinstance(tags[0], Tag)


def test_labels_are_all_names_sorted(tagger):
    assert tagger.classes_ == ("clothing", "fruit", "machines", "red")


def test_order_of_the_texts_does_not_change_the_tagger(tagger):
    turned = Tagger(Centroids()).fit(TEXTS[::-1], LABELS[::-1])
    assert turned.classes_ == tagger.classes_
    np.testing.assert_allclose(turned.model_.means_, tagger.model_.means_, atol=1e-6)


def test_threshold_leaves_out_low_scores(tagger):
    (tags,) = tagger.predict(["red apple"], top_k=4)
    (kept,) = tagger.predict(["red apple"], top_k=4, threshold=tags[1].score)
    assert kept == tags[:2]
    assert tagger.predict(["red apple"], threshold=9.0) == [[]]


def test_a_text_without_known_words_gets_no_tags(tagger):
    assert tagger.predict(["zzz", ""]) == [[], []]


def test_no_texts_no_tags(tagger):
    assert tagger.predict([]) == []


def test_batches_equal_single_texts(tagger, monkeypatch):
    monkeypatch.setattr("multitudes.tagger.prediction.BATCH", 3)
    texts = TEXTS * 2
    assert tagger.predict(texts) == [tagger.predict([text])[0] for text in texts]


def test_predict_ids_holds_label_ids(tagger):
    predictions = tagger.predict_ids(TEXTS, top_k=1)
    assert [tagger.classes_[i] for i in predictions.labels[:, 0]] == [
        "red", "fruit", "clothing", "machines",
    ]  # fmt: skip
    assert predictions.n_labels == 4


def test_any_iterable_of_texts_will_do(tagger):
    assert tagger.predict(text for text in TEXTS) == tagger.predict(np.array(TEXTS))


def test_y_as_a_matrix_with_names():
    Y = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32))
    tagger = Tagger(Centroids()).fit(TEXTS, Y, label_names=["fruit", "belts"])
    assert tagger.predict(["belt"], top_k=1)[0][0].label == "belts"


def test_a_dataset_of_features_needs_no_texts():
    X = sp.csr_array(np.eye(3, dtype=np.float32))
    dataset = Dataset(Y=sp.csr_array(np.eye(3, dtype=np.float32)), X=X)
    tagger = Tagger(Centroids()).fit(dataset)
    assert not tagger.takes_texts_
    assert [tags[0].label for tags in tagger.predict(X, top_k=1)] == ["0", "1", "2"]
    with pytest.raises(DataError, match="fitted on features X"):
        tagger.predict(["a text"])


def test_rows_of_x_are_scaled_to_length_one_unless_told_otherwise():
    X = sp.csr_array(np.array([[3, 4], [0, 2]], np.float32))
    dataset = Dataset(Y=sp.csr_array(np.eye(2, dtype=np.float32)), X=X)
    scaled = Tagger(Centroids()).fit(dataset)
    np.testing.assert_allclose(scaled.model_.means_, [[0.6, 0.8], [0, 1]], rtol=1e-6)
    kept = Tagger(Centroids(), settings={"features.normalize": False}).fit(dataset)
    assert kept.features_.transform(X).toarray().tolist() == [[3, 4], [0, 2]]


def test_clone_and_get_params_work():
    tagger = Tagger(Centroids(power=2.0), settings={"features.min_df": 2}, random_state=3)
    copy = clone(tagger)
    assert copy.get_params()["random_state"] == 3
    assert copy.model.power == 2.0
    assert not hasattr(copy, "model_")


def test_its_score_is_the_precision_at_1():
    tagger = Tagger(Centroids()).fit(TEXTS, LABELS)
    assert tagger.score(TEXTS, LABELS) == 1.0
    assert tagger.score(TEXTS, [["red"], [], ["machines"], ["machines"]]) == 0.5
    search = GridSearchCV(Tagger("one-vs-all"), {"random_state": [0, 1]}, cv=2)
    texts, labels = TEXTS * 2, LABELS * 2
    assert search.fit(texts, labels).best_score_ == 1.0


def test_given_estimators_are_left_unfitted():
    model, features = Centroids(), TfidfFeatures()
    Tagger(model, features=features).fit(TEXTS, LABELS)
    assert not hasattr(model, "means_")
    assert not hasattr(features, "idf_")


def test_settings_reach_model_and_features():
    settings = {"power": 2.0, "features.word_ngrams": [1, 2]}
    tagger = Tagger(Centroids(), settings=settings, n_jobs=1).fit(TEXTS, LABELS)
    assert tagger.model_.power == 2.0
    assert tagger.model_.n_jobs == tagger.features_.n_jobs == 1
    assert tagger.features_.word_ngrams == (1, 2)
    assert "red apple" in tagger.features_.feature_names


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ConfigError, match="'features.mindf': did you mean 'features.min_df'"):
        Tagger(Centroids(), settings={"features.mindf": 2}).fit(TEXTS, LABELS)
    with pytest.raises(ConfigError, match="no model 'xr-liner': did you mean 'xr-linear'"):
        Tagger("xr-liner").fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    "name", ["branching", "solver.cost", "features.min_df", "features.normalize"]
)
def test_check_lets_through_what_may_be_set(name):
    Tagger("auto", settings={name: 2}).check()


def test_check_refuses_before_any_data_is_there():
    with pytest.raises(ConfigError, match="'branchin': did you mean 'branching'"):
        Tagger("auto", settings={"branchin": 2}).check()
    with pytest.raises(ConfigError, match="no setting 'branching'"):
        Tagger("one-vs-all", settings={"branching": 2}).check()
    with pytest.raises(ConfigError, match="no setting 'features.min_df'"):
        Tagger(Centroids(), features=PassThrough(), settings={"features.min_df": 2}).check()


def test_saved_and_loaded_it_tags_the_same(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model", verify=True)
    assert loaded.predict(TEXTS) == tagger.predict(TEXTS)
    assert loaded.classes_ == tagger.classes_
    assert loaded.choice_ == "Centroids, as given"
    loaded.save(tmp_path / "model")  # over the files its arrays are mapped from
    assert Tagger.load(tmp_path / "model").predict(TEXTS) == tagger.predict(TEXTS)


def test_saved_tagger_of_features_keeps_their_names(tmp_path):
    eye = sp.csr_array(np.eye(2, dtype=np.float32))
    dataset = Dataset(Y=eye, X=eye, feature_names=["a", "b"])
    Tagger(Centroids()).fit(dataset).save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert list(loaded.feature_names_) == ["a", "b"]
    assert loaded.predict(eye, top_k=1)[1][0].label == "1"


def test_loading_something_else_says_so(tmp_path, tagger):
    save(tagger.model_, tmp_path / "model")
    with pytest.raises(StoreError, match="holds a Centroids, not a Tagger"):
        Tagger.load(tmp_path / "model")


class Forgetful(BaseEstimator):
    """A model without to_state."""

    def fit(self, X, Y):
        self.model_ = Centroids().fit(X, Y)
        return self

    def predict(self, X, *, top_k=5):
        return self.model_.predict(X, top_k=top_k)


def test_saving_with_an_unstorable_model_says_so(tmp_path):
    with pytest.raises(StoreError, match="Forgetful, cannot be saved"):
        Tagger(Forgetful()).fit(TEXTS, LABELS).save(tmp_path / "model")


def test_explain_gives_the_words_behind_a_score(tagger):
    tag = tagger.predict(["red apple belt"], top_k=1)[0][0]
    explanation = tagger.explain("red apple belt", tag.label)
    (step,) = explanation.steps
    assert explanation.score == pytest.approx(tag.score, rel=1e-5)
    assert {word for word, _ in step.words} == {"red", "apple", "belt"}
    assert step.words[0][0] == "red"
    assert sum(value for _, value in step.words) + step.bias == pytest.approx(step.margin)
    assert "red +" in explanation.table()
    assert "2 others" in explanation.table(top=1)


def test_explain_names_columns_of_x():
    eye = sp.csr_array(np.eye(2, dtype=np.float32))
    named = Dataset(Y=eye, X=eye, feature_names=["a", "b"])
    for dataset, word in ((named, "b"), (Dataset(Y=eye, X=eye), "feature 1")):
        tagger = Tagger(Centroids()).fit(dataset)
        assert tagger.explain(eye[[1]], "1").steps[0].words == ((word, 1.0),)


def test_explain_of_what_cannot_be_explained(tagger):
    with pytest.raises(DataError, match="no label 'fruits' among 4: did you mean 'fruit'"):
        tagger.explain("x", "fruits")
    with pytest.raises(ConfigError, match="Forgetful cannot explain"):
        Tagger(Forgetful()).fit(TEXTS, LABELS).explain("x", "fruit")


def test_before_fit():
    for action in (lambda t: t.predict(["x"]), lambda t: t.to_state()):
        with pytest.raises(NotFittedError, match="call fit or load first"):
            action(Tagger())


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], [["x"]], "2 texts and 1 lists"),
        ("ab", [["x"], ["y"]], "the single str 'ab'"),
        (["a"], None, "one list of label names per text, or a matrix of 0 and 1, got None"),
        (["a"], np.array("x"), "or a matrix of 0 and 1 .*got array"),
        (None, [["x"]], "expected a sequence of texts, got NoneType"),
        (3, sp.csr_array((1, 2), dtype=np.float32), "expected a sequence of texts, got int"),
        (["a"], ["x"], r"labels\[0\] must be a list of label names, got 'x'"),
        (["a"], [np.array("x")], r"labels\[0\] must be a list of label names, got array"),
        (["a"], [None], r"labels\[0\] must be a list"),
        (["a"], [[7]], r"labels\[0\] holds 7 \(int\)"),
        (["a"], [[]], "nothing to learn from"),
        ([], [], "nothing to learn from"),
        ([1], [["x"]], "texts must be strings, got 1 at position 0"),
    ],
)
def test_bad_training_data(texts, labels, message):
    with pytest.raises(DataError, match=message):
        Tagger(Centroids()).fit(texts, labels)


def test_a_label_outside_the_given_names():
    with pytest.raises(DataError, match="'red' is not among the 1 label_names"):
        Tagger(Centroids()).fit(TEXTS, LABELS, label_names=["fruit"])


def test_bad_inputs_to_predict(tagger):
    with pytest.raises(DataError, match="got one str"):
        tagger.predict("an apple")
    for wrong in (None, 3, np.array("a")):
        with pytest.raises(DataError, match="expected a sequence of texts, got"):
            tagger.predict(wrong)
    with pytest.raises(DataError, match="fitted on texts"):
        tagger.predict(sp.csr_array((1, 3)))
    for top_k in (0, -1, 2.5, True):
        with pytest.raises(ConfigError, match="top_k must be a whole number >= 1"):
            tagger.predict(["x"], top_k=top_k)


def test_a_model_that_is_no_model():
    with pytest.raises(ConfigError, match="a model's name or an estimator"):
        Tagger(42).fit(TEXTS, LABELS)


def test_label_names_from_arrays_and_sets_are_plain_texts():
    tagger = Tagger("one-vs-all").fit(["a cat", "a dog"], [np.array(["cat"]), {"dog"}])
    assert [type(name) for name in tagger.classes_] == [str, str]
