import numpy as np
import pytest
from sklearn.base import clone

from multitudes.errors import ConfigError, DataError
from multitudes.features import HashingFeatures, TfidfFeatures, term_counts
from multitudes.store import build

TEXTS = ["A jaguar is a cat", "a Jaguar is a car", "", "Über Zürich"]


def test_rows_equal_unweighted_tfidf_up_to_the_order_of_columns():
    X = HashingFeatures(n_features=1 << 20, ngrams=(1, 2)).transform(TEXTS)
    words = TfidfFeatures(word_ngrams=(1, 2)).fit(TEXTS)
    words.idf_ = np.ones_like(words.idf_)
    reference = words.transform(TEXTS)
    assert X.shape == (4, 1 << 20)
    assert X.dtype == np.float32
    assert X.has_sorted_indices
    np.testing.assert_allclose((X @ X.T).toarray(), (reference @ reference.T).toarray(), atol=1e-6)


def test_columns_never_change():
    # Stored models depend on these numbers.
    X = HashingFeatures(n_features=1000).transform(["multitudes"])
    assert X.indices.tolist() == [856]
    X = HashingFeatures(n_features=1000, unit="character", ngrams=(3, 3)).transform(["ab"])
    assert X.indices.tolist() == [735, 867]


def test_terms_that_share_a_column_add_up():
    X = HashingFeatures(n_features=1, sublinear_tf=False).transform(["one two", ""])
    assert X.toarray().tolist() == [[1.0], [0.0]]


def test_the_same_result_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(term_counts, "MIN_TEXTS_PER_THREAD", 2)
    texts = TEXTS * 10
    one = HashingFeatures(n_jobs=1).transform(texts)
    many = HashingFeatures(n_jobs=5).transform(texts)
    assert (one != many).nnz == 0


def test_state_round_trip_and_clone():
    features = HashingFeatures(n_features=512, ngrams=(2, 4), unit="character")
    loaded = build(features.to_state())
    assert loaded.get_params() == features.get_params() == clone(features).get_params()
    assert (loaded.transform(TEXTS) != features.transform(TEXTS)).nnz == 0


def test_bad_settings_and_texts_are_refused():
    with pytest.raises(ConfigError, match="unit"):
        HashingFeatures(unit="letter").fit(TEXTS)
    with pytest.raises(ConfigError, match="ngrams"):
        HashingFeatures(ngrams=(3, 2)).fit(TEXTS)
    with pytest.raises(DataError, match="text 1 "):
        HashingFeatures().transform(["a", None])
