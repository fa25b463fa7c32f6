from itertools import pairwise

import numpy as np
import pytest

from multitudes import Lexical
from multitudes.features.vocabulary import Vocabulary
from multitudes.lexical.compounds import parts_of

KNOWN = Vocabulary.from_names(sorted(["gart", "garten", "haus", "tur", "türen"]), joined_words=True)


def test_the_longest_known_stems_at_both_ends():
    forms = [b"gartenhaus", b"haus", b"", "haustüren".encode(), b"gartenhaus1", b"abcdefghijk"]
    indptr, ids = parts_of(forms, KNOWN)
    found = [sorted(KNOWN.names[i] for i in ids[a:b]) for a, b in pairwise(indptr)]
    assert found == [["garten", "haus"], [], [], ["haus", "türen"], [], []]


def test_no_forms():
    indptr, ids = parts_of([], KNOWN)
    assert indptr.tolist() == [0]
    assert len(ids) == 0


@pytest.mark.parametrize("compounds", [True, False])
def test_names_inside_words(compounds):
    model = Lexical(language="german", compounds=compounds)
    model.fit(label_texts=["Gärten", "Häuser", "Gartenhäuser"])
    found = model.predict(["Ein Gartenhaus und Haustüren"], top_k=3)
    assert set(found.labels[0].tolist()) == ({0, 1, 2} if compounds else {2, -1})
    why = model.explain("Ein Gartenhaus und Haustüren", 1)
    assert why.words == (("Gartenhaus", "Haustüren") if compounds else ())


def test_other_languages_have_no_compounds():
    model = Lexical(language="english", compounds=True).fit(label_texts=["garden"])
    assert model.predict(["gardenhouse"], top_k=1).labels.tolist() == [[-1]]


def test_texts_of_two_languages_keep_their_words_apart():
    model = Lexical(language=("english", "german"), compounds=True).fit(
        label_texts=["Garten", "house", "moon"]
    )
    texts = ["the house of the moon", "das Gartenhaus und der Hund", "", "of the house"]
    found = [sorted(row) for row in model.predict(texts, top_k=3).to_lists()]
    alone = [sorted(model.predict([text], top_k=3).to_lists()[0]) for text in texts]
    assert found == alone
    assert found[0] == [1, 2]
    assert found[1][:1] == [0]
    assert np.array_equal(found[2], [])
