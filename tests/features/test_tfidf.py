import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Normalizer

from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features import TOKEN_PATTERN, TfidfFeatures, term_counts
from multitudes.store.state import State

TEXTS = [
    "The crane lifts the crane; a crane rests.",
    "Über die Brücke: Straße Nr. 7, Zürich",
    "C++ and C# code in node.js v3.5, see lib_foo-dev",
    "",
    "  \t ",
    "The bridge — ein Kran über dem Fluss",
    "日本語 の テキスト и русский текст",
    "ΟΔΥΣΣΕΥΣ Σ",
]


def random_texts(n_texts: int, random_state: int = 0) -> list[str]:
    rng = np.random.default_rng(random_state)
    words = np.array([f"{a}{b}" for a in "bcdfgäл" for b in ("a", "er", "östlich", "x1")])
    ranks = rng.zipf(1.5, (n_texts, 30)) % len(words)
    return [" ".join(words[row[: rng.integers(0, 30)]]) for row in ranks]


def assert_same_rows(ours, theirs):
    theirs = sp.csr_array(theirs)
    theirs.sort_indices()
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, atol=1e-6)


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("sublinear_tf", [False, True])
def test_words_equal_sklearn(ngrams, sublinear_tf):
    texts = TEXTS + random_texts(300)
    ours = TfidfFeatures(word_ngrams=ngrams, sublinear_tf=sublinear_tf)
    theirs = TfidfVectorizer(
        token_pattern=TOKEN_PATTERN, ngram_range=ngrams, sublinear_tf=sublinear_tf
    )
    assert_same_rows(ours.fit_transform(texts), theirs.fit_transform(texts))
    assert list(ours.feature_names) == list(theirs.get_feature_names_out())
    held_out = [*random_texts(50, random_state=1), "unknown words only", "kran crane"]
    assert_same_rows(ours.transform(held_out), theirs.transform(held_out))


@pytest.mark.parametrize("ngrams", [(1, 1), (3, 5), (2, 9)])
def test_characters_equal_sklearn(ngrams):
    texts = TEXTS + random_texts(100)
    ours = TfidfFeatures(word_ngrams=None, char_ngrams=ngrams, sublinear_tf=False)
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=ngrams)
    assert_same_rows(ours.fit_transform(texts), theirs.fit_transform(texts))
    assert list(ours.feature_names) == [f"char:{term}" for term in theirs.get_feature_names_out()]


def test_words_and_characters_equal_a_normalized_union():
    texts = TEXTS + random_texts(100)
    ours = TfidfFeatures(char_ngrams=(2, 3), sublinear_tf=True)
    words = TfidfVectorizer(token_pattern=TOKEN_PATTERN, sublinear_tf=True, norm=None)
    characters = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(2, 3), sublinear_tf=True, norm=None
    )
    union = Pipeline([("u", FeatureUnion([("w", words), ("c", characters)])), ("n", Normalizer())])
    assert_same_rows(ours.fit_transform(texts), union.fit_transform(texts))


@pytest.mark.parametrize(("min_df", "max_df"), [(2, 1.0), (0.02, 0.3), (3, 40), (1, 1)])
def test_document_frequency_limits_equal_sklearn(min_df, max_df):
    texts = TEXTS + random_texts(200)
    settings = {"min_df": min_df, "max_df": max_df}
    ours = TfidfFeatures(sublinear_tf=False, **settings)
    theirs = TfidfVectorizer(token_pattern=TOKEN_PATTERN, **settings)
    assert_same_rows(ours.fit_transform(texts), theirs.fit_transform(texts))


def test_max_features_keeps_the_most_frequent_and_the_first_of_equals():
    features = TfidfFeatures(max_features=3)
    features.fit(["b b b c", "d d a", "a e"])  # b 3, a 2, d 2, c 1, e 1
    assert features.feature_names == ["a", "b", "d"]
    assert TfidfFeatures(max_features=2).fit(["d c b a"]).feature_names == ["a", "b"]


def test_case_and_accents():
    assert TfidfFeatures(lowercase=False).fit(["Apple apple"]).feature_names == ["Apple", "apple"]
    stripped = TfidfFeatures(strip_accents=True).fit(["Zürich CAFÉ straße"])
    assert stripped.feature_names == ["cafe", "straße", "zurich"]
    decomposed = TfidfFeatures().fit(["u\u0308ber"])
    assert decomposed.feature_names == ["über"]


def test_the_documented_words():
    text = "C++11 and C#, F#; libfoo-dev snake_case 3.5 O'Brien R"
    words = TfidfFeatures().fit([text]).feature_names
    expected = [
        "11",
        "3",
        "5",
        "and",
        "brien",
        "c#",
        "c++",
        "dev",
        "f#",
        "libfoo",
        "o",
        "r",
        "snake_case",
    ]
    assert words == expected


def test_a_zero_character_separates_words_and_not_texts():
    X = TfidfFeatures().fit_transform(["one\0two", "\0", "three"])
    assert X.shape == (3, 3)
    np.testing.assert_array_equal(np.diff(X.indptr), [2, 0, 1])


def test_rows_are_float32_sorted_and_of_length_one():
    X = TfidfFeatures(word_ngrams=(1, 2)).fit_transform(TEXTS)
    assert isinstance(X, sp.csr_array)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    rows = [X.indices[i:j] for i, j in zip(X.indptr, X.indptr[1:], strict=False)]
    assert all((np.diff(row) > 0).all() for row in rows)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    np.testing.assert_allclose(lengths, [1, 1, 1, 0, 0, 1, 1, 1], atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"word_ngrams": (1, 3), "char_ngrams": (2, 3)}])
def test_the_same_result_on_any_number_of_threads(monkeypatch, settings):
    monkeypatch.setattr(term_counts, "MIN_TEXTS_PER_THREAD", 10)
    texts = random_texts(500)
    one = TfidfFeatures(n_jobs=1, **settings)
    X = one.fit_transform(texts)
    for n_jobs in (2, 3, 7):
        several = TfidfFeatures(n_jobs=n_jobs, **settings)
        assert_identical(several.fit_transform(texts), X)
        assert several.feature_names == one.feature_names
        assert_identical(several.transform(texts), X)


def assert_identical(A, B):
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(A, name), getattr(B, name))


def test_a_batch_equals_its_single_rows():
    texts = random_texts(40)
    features = TfidfFeatures(char_ngrams=(3, 4)).fit(texts)
    batch = features.transform(texts)
    assert_identical(batch, sp.vstack([features.transform([text]) for text in texts], format="csr"))


def test_a_text_longer_than_a_chunk_and_a_growing_vocabulary():
    rng = np.random.default_rng(0)
    long = " ".join(f"w{i}" for i in rng.integers(0, 90_000, 60_000))
    X = TfidfFeatures(sublinear_tf=False).fit_transform(["w1 w2", long, "w3"])
    reference = TfidfVectorizer(token_pattern=TOKEN_PATTERN).fit_transform(["w1 w2", long, "w3"])
    assert_same_rows(X, reference)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_any_text_counts_as_in_sklearn(texts):
    # Both ends get the texts composed and free of what no encoding holds.
    import unicodedata

    texts = [unicodedata.normalize("NFC", text).replace("\0", " ") for text in texts]
    texts = [text.encode("utf-8", "replace").decode() for text in texts] + ["anchor"]
    for ours, theirs in (
        (TfidfFeatures(word_ngrams=(1, 2)), {"ngram_range": (1, 2)}),
        (
            TfidfFeatures(word_ngrams=None, char_ngrams=(2, 3)),
            {"analyzer": "char_wb", "ngram_range": (2, 3)},
        ),
    ):
        # After lower(), a composed text may not be composed any more; compare on lowered texts.
        ours.set_params(lowercase=False)
        vectorizer = CountVectorizer(token_pattern=TOKEN_PATTERN, lowercase=False, **theirs)
        counts = vectorizer.fit_transform(texts)
        X = ours.fit_transform(texts)
        names = [name.removeprefix("char:") for name in ours.feature_names]
        assert names == list(vectorizer.get_feature_names_out())
        np.testing.assert_array_equal(X.toarray() > 0, counts.toarray() > 0)


@pytest.mark.parametrize("bad", [None, 3.5, b"bytes", ["a", "list"]])
def test_what_is_not_a_text_is_named_by_its_index(bad):
    texts = ["fine", "fine too", bad, "fine"]
    with pytest.raises(DataError, match=r"text 2 is not a string"):
        TfidfFeatures().fit(texts)
    with pytest.raises(DataError, match=r"text 2 is not a string"):
        TfidfFeatures().fit(["fine"]).transform(texts)


def test_the_index_of_a_bad_text_counts_from_the_first_shard(monkeypatch):
    monkeypatch.setattr(term_counts, "MIN_TEXTS_PER_THREAD", 10)
    texts = [*["fine"] * 70, None, *["fine"] * 10]
    with pytest.raises(DataError, match="text 70 "):
        TfidfFeatures(n_jobs=3).fit(texts)


def test_a_lone_string_is_refused():
    with pytest.raises(DataError, match="wrap it in a list"):
        TfidfFeatures().fit("one text")


def test_no_terms_gives_advice():
    with pytest.raises(DataError, match="lower min_df"):
        TfidfFeatures(min_df=2).fit(["one", "two"])
    with pytest.raises(DataError, match="no terms left from 0 texts"):
        TfidfFeatures().fit([])


def test_transform_before_fit():
    with pytest.raises(NotFittedError, match="call fit first"):
        TfidfFeatures().transform(["text"])


@pytest.mark.parametrize(
    "settings",
    [
        {"word_ngrams": (2, 1)},
        {"word_ngrams": (0, 1)},
        {"char_ngrams": (3,)},
        {"word_ngrams": None},
        {"min_df": 1.5},
        {"max_df": -1},
        {"max_features": 0},
        {"lowercase": "yes"},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError):
        TfidfFeatures(**settings).fit(["text"])


def test_texts_of_other_sequence_types():
    expected = TfidfFeatures().fit_transform(TEXTS)
    assert_identical(TfidfFeatures().fit_transform(tuple(TEXTS)), expected)
    assert_identical(TfidfFeatures().fit_transform(np.array(TEXTS, dtype=object)), expected)
    assert_identical(TfidfFeatures().fit_transform(text for text in TEXTS), expected)


def test_no_texts_give_no_rows():
    features = TfidfFeatures().fit(TEXTS)
    assert features.transform([]).shape == (0, features.n_features_)


def test_state_round_trip():
    texts = TEXTS + random_texts(50)
    features = TfidfFeatures(word_ngrams=(1, 2), char_ngrams=(2, 3), min_df=2)
    X = features.fit_transform(texts)
    state = features.to_state()
    assert state.kind == "tfidf"
    plain = {
        key: list(value) if isinstance(value, tuple) else value  # as JSON gives it back
        for key, value in state.config.items()
    }
    arrays = {}
    for name, array in state.arrays.items():
        arrays[name] = array.copy()
        arrays[name].flags.writeable = False
    loaded = TfidfFeatures.from_state(State("tfidf", plain, arrays, state.strings))
    assert_identical(loaded.transform(texts), X)
    assert loaded.get_params() == features.get_params()
    assert loaded.feature_names == features.feature_names


def test_an_edited_vocabulary_is_refused():
    state = TfidfFeatures().fit(["a b"]).to_state()
    for words in (["b", "a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(DataError):
            TfidfFeatures.from_state(State("tfidf", state.config, state.arrays, {"words": words}))


def test_scikit_learn_contract():
    features = TfidfFeatures(word_ngrams=(1, 2), min_df=2)
    assert clone(features).get_params() == features.get_params()
    X = Pipeline([("features", features)]).fit_transform(TEXTS)
    copy = pickle.loads(pickle.dumps(features))
    assert_identical(copy.transform(TEXTS), X)
    assert len(features.get_feature_names_out()) == X.shape[1]


def test_settings_changed_after_fit_do_not_change_the_reading():
    features = TfidfFeatures().fit(["Apple"])
    features.set_params(lowercase=False)
    assert features.transform(["Apple"]).nnz == 1


@pytest.mark.real
def test_eurlex_titles_equal_sklearn(shared_data):
    import json
    import lzma

    with lzma.open(shared_data("eurlex-titles") / "tst.jsonl.xz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["title"] for line in lines]
    ours = TfidfFeatures(word_ngrams=(1, 2), min_df=2)
    theirs = TfidfVectorizer(
        token_pattern=TOKEN_PATTERN, ngram_range=(1, 2), min_df=2, sublinear_tf=True
    )
    assert_same_rows(ours.fit_transform(texts), theirs.fit_transform(texts))
