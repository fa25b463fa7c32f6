import numpy as np
import pytest
from sklearn.base import clone

from multitudes.errors import ConfigError, NotFittedError
from multitudes.features import ConcatFeatures, DenseFeatures, HashingFeatures, TfidfFeatures
from multitudes.store import build

TEXTS = ["a bat in a cave", "a cricket bat", "", "cave bears"]


def lengths(texts):
    return np.array([[len(text), text.count("a")] for text in texts])


def blocks():
    return [TfidfFeatures(), HashingFeatures(n_features=64), DenseFeatures(encoder=lengths)]


def test_blocks_stand_side_by_side_with_their_weights():
    features = ConcatFeatures(blocks(), weights=[1, 0.5, 2])
    X = features.fit_transform(TEXTS)
    parts = [block.fit_transform(TEXTS).toarray() for block in blocks()]
    expected = np.hstack([parts[0], 0.5 * parts[1], 2 * parts[2]])
    np.testing.assert_allclose(X.toarray(), expected, atol=1e-6)
    assert X.dtype == np.float32
    assert X.has_sorted_indices
    assert (features.transform(TEXTS) != X).nnz == 0
    assert len(features.feature_names) == X.shape[1] == features.n_features_
    assert features.feature_names[0] == "a"
    assert features.feature_names[-1] == "2:1"


def test_the_given_blocks_stay_unfitted():
    given = blocks()
    ConcatFeatures(given).fit(TEXTS)
    assert not hasattr(given[0], "idf_")


def test_state_round_trip_and_clone():
    features = ConcatFeatures([TfidfFeatures(), TfidfFeatures(word_ngrams=(2, 2))], weights=[1, 3])
    X = features.fit_transform(TEXTS)
    loaded = build(features.to_state())
    assert (loaded.transform(TEXTS) != X).nnz == 0
    assert (clone(features).fit_transform(TEXTS) != X).nnz == 0
    nested = ConcatFeatures([features])
    Z = nested.fit_transform(TEXTS)
    assert (build(nested.to_state()).transform(TEXTS) != Z).nnz == 0


@pytest.mark.parametrize("weights", [[1], [1, 0], [1, -1], [1, np.nan]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ConfigError):
        ConcatFeatures([TfidfFeatures(), HashingFeatures()], weights=weights).fit(TEXTS)


def test_no_blocks_and_no_fit():
    with pytest.raises(ConfigError, match="at least one block"):
        ConcatFeatures([]).fit(TEXTS)
    with pytest.raises(NotFittedError):
        ConcatFeatures(blocks()).transform(TEXTS)
