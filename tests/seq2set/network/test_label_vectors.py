"""Where embeddings start."""

import numpy as np
import pytest

from multitudes.seq2set.words.start_vectors import start_vectors
from multitudes.seq2set.words.vocabulary import PADDING, WordsConfig, WordVocabulary

VOCABULARY = WordVocabulary(("cat", "dog", "owl"))
LABELS = ["Cat and dog", "a fox", "???"]


def made(label_texts=LABELS, **settings):
    config = WordsConfig(**settings)
    return start_vectors(VOCABULARY, label_texts, n_labels=3, config=config, random_state=0)


def test_from_a_file(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("cat 1 2\ndog 3 4\nfox 5 6\n")
    start = made(vectors=str(path))
    assert start.words[2:4].tolist() == [[1, 2], [3, 4]]
    assert np.abs(start.words[4]).max() <= 0.1  # the file knows no owl
    assert start.labels[:2].tolist() == [[2, 3], [5, 6]]  # "fox" is no word of the texts
    assert np.abs(start.labels[2]).max() <= 0.1
    assert (start.n_words_found, start.n_labels_found) == (2, 2)
    assert not start.words[PADDING].any()


def test_a_file_that_knows_no_word_of_the_texts(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("fox 5 6\n")
    with pytest.warns(UserWarning, match="v.txt has none of the 3 words of the training texts"):
        start = made(vectors=str(path))
    assert (start.n_words_found, start.n_labels_found) == (0, 1)


def test_without_a_file():
    start = made(dim=5)
    assert start.words.shape == (5, 5)
    assert start.labels.shape == (3, 5)
    assert start.n_words_found == 0
    assert made().words.shape == (5, 300)
    shared = made(["cat", "cat", "dog"], dim=5).labels
    np.testing.assert_array_equal(shared[0], shared[1])


def test_random_labels():
    for start in (made(None, dim=4), made(dim=4, label_embeddings="random")):
        assert start.n_labels_found == 0
        assert len(np.unique(start.labels)) == 12


def test_the_same_seed_the_same_vectors():
    np.testing.assert_array_equal(made(dim=4).labels, made(dim=4).labels)
