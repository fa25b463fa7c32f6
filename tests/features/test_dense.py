import numpy as np
import pytest

from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features import DenseFeatures
from multitudes.store import build


def letters(texts):
    """A small encoder: how often a, b and c occur."""
    return np.array([[text.count(c) for c in "abc"] for text in texts], float)


def test_an_encoder_gives_unit_rows_whatever_the_batch():
    texts = ["aab", "c", "", "abc" * 5]
    X = DenseFeatures(encoder=letters, batch_size=2).fit_transform(texts)
    expected = letters(texts)
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(X.toarray(), expected, atol=1e-6)
    assert X.dtype == np.float32
    assert X.has_sorted_indices
    features = DenseFeatures(encoder=letters).fit(texts)
    assert (features.transform(texts) != X).nnz == 0
    assert features.transform([]).shape == (0, 3)


def test_an_array_passes_through_unchanged_without_normalize():
    array = np.array([[3.0, 4.0], [0.0, 2.0]])
    given = array.copy()
    X = DenseFeatures(normalize=False).fit(array).transform(array)
    np.testing.assert_array_equal(X.toarray(), given)
    np.testing.assert_allclose(DenseFeatures().fit_transform(array).toarray()[0], [0.6, 0.8])
    np.testing.assert_array_equal(array, given)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([[1.0, np.nan]], "instance 0 has nan in dimension 1"),
        ([[1.0], [np.inf]], "instance 1 has inf in dimension 0"),
        ([1.0, 2.0], "shape"),
        (["a text"], "set encoder="),
    ],
)
def test_bad_arrays_are_refused(array, message):
    with pytest.raises(DataError, match=message):
        DenseFeatures().fit(array)


def test_a_wrong_number_of_rows_or_dimensions_is_refused():
    with pytest.raises(DataError, match=r"\(2, n_dimensions\)"):
        DenseFeatures(encoder=lambda texts: np.ones((1, 3))).fit_transform(["a", "b"])
    with pytest.raises(DataError, match="3 dimensions as in fit, got 2"):
        DenseFeatures().fit(np.ones((1, 3))).transform(np.ones((1, 2)))
    with pytest.raises(ConfigError, match="batch_size"):
        DenseFeatures(batch_size=0).fit(np.ones((1, 3)))
    with pytest.raises(NotFittedError):
        DenseFeatures().transform(np.ones((1, 2)))


def test_a_loaded_one_asks_for_its_encoder():
    loaded = build(DenseFeatures(encoder=letters).fit(["abc"]).to_state())
    with pytest.raises(ConfigError, match=r"set_params\(encoder"):
        loaded.transform(["abc"])
    loaded.set_params(encoder=letters)
    assert loaded.transform(["abc"]).nnz == 3
    arrays = build(DenseFeatures(normalize=False).fit(np.eye(2)).to_state())
    np.testing.assert_array_equal(arrays.transform(np.eye(2)).toarray(), np.eye(2))
