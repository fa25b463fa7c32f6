"""Problem 15: print(tagger.explain(...)) dumped a dataclass; labels of biases went unremarked."""

from __future__ import annotations

import pytest

from multitudes import Tagger
from multitudes.data import make_catalogue

SHOP = make_catalogue(400, n_labels=12, random_state=1).dataset
EMPTY = ("", "   ", "zzyzx qwrtz")


@pytest.fixture(scope="module")
def tagger():
    settings = {"overlap": 2, "max_leaf_size": 4}
    return Tagger("xr-linear", settings=settings, n_jobs=1).fit(SHOP)


def test_an_explanation_prints_as_its_table(tagger):
    explanation = tagger.explain(SHOP.texts[0], tagger.classes_[0])
    assert str(explanation) == explanation.table()
    first, *levels = str(explanation).splitlines()
    assert first.startswith(f"{tagger.classes_[0]}: score ")
    assert levels[0].startswith("  level 0: score ")
    assert explanation.note == ""


@pytest.mark.parametrize("text", EMPTY)
def test_labels_made_of_biases_alone_are_remarked(tagger, text):
    explanation = tagger.explain(text, tagger.classes_[0])
    assert all(not step.words for step in explanation.steps)
    assert str(explanation).splitlines()[-1].strip().startswith("the model knows nothing in this")
    assert explanation.to_dict()["note"] == explanation.note


def test_texts_in_which_nothing_is_known_can_be_found(tagger):
    texts = [SHOP.texts[0], *EMPTY, SHOP.texts[1]]
    assert tagger.unreadable(texts) == [1, 2, 3]
    assert len({tuple(row) for row in tagger.predict(texts).to_lists()[1:4]}) == 1


def test_senses_and_ambiguous_labels_print_one_below_the_other(tagger):
    ambiguous = tagger.ambiguous_labels(top_k=3)
    lines = str(ambiguous).splitlines()
    assert len(lines) == len(ambiguous) > 1
    assert lines[0].startswith(f"{ambiguous[0].label}: separation 0.")
    senses = tagger.senses(ambiguous[0].label)
    assert str(senses[0]) == senses[0].table()
    assert str(senses) == "\n".join(map(str, senses))
    assert "words: " in str(senses[0])


def test_the_other_kind_of_explanation_too():
    pytest.importorskip("torch")
    from multitudes.encoder.explanation import Explanation

    shares = {"text": 0.5, "centroid": -0.125, "free": 0.0}
    explanation = Explanation("fruit", 0.375, shares, None, note="a remark")
    assert str(explanation) == explanation.table()
    first, prototype, *_, last = str(explanation).splitlines()
    assert first == "fruit: score 0.3750"
    assert prototype.startswith("  prototype: its text +0.50, its training texts -0.1")
    assert last == "  a remark"
