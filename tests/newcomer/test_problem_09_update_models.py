"""Problem 9, the models: overlap refused updates, and unknown words changed nothing, silently."""

import warnings

import pytest

from multitudes.data import make_catalogue
from multitudes.errors import UnknownFeaturesWarning
from multitudes.tagger import Tagger


@pytest.fixture(scope="module")
def shop():
    """Texts and label names of 800 catalogue lines that have labels."""
    made = make_catalogue(800, n_labels=60, random_state=3).dataset
    rows = zip(made.Y.indptr[:-1], made.Y.indptr[1:], strict=True)
    lists = [[made.label_names[i] for i in made.Y.indices[a:b]] for a, b in rows]
    labeled = [i for i, row in enumerate(lists) if row]
    return [made.texts[i] for i in labeled], [lists[i] for i in labeled]


@pytest.fixture(params=["xr-linear", "parabel"])
def tagger(request, shop):
    texts, lists = shop
    settings = {"overlap": 2, "max_leaf_size": 8}
    return Tagger(request.param, settings=settings).fit(texts[:400], lists[:400])


def known_only(lists, known):
    return [[name for name in row if name in known] for row in lists]


def test_a_tagger_with_overlap_takes_new_instances(tagger, shop):
    texts, lists = shop
    later = texts[400:], known_only(lists[400:], tagger.classes_)
    before = tagger.score(*later)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tagger.partial_fit(*later) is tagger
    assert tagger.score(*later) > before


def test_it_takes_new_labels_and_loses_others(tagger, shop, tmp_path):
    texts, lists = shop
    gone, stays = tagger.classes_[:2]
    belts = [text for text, row in zip(texts, lists, strict=True) if "belt" in row]
    tagger.add_labels(belts, [["airships"]] * len(belts)).remove_labels([gone])
    assert tagger.classes_[-1] == "airships"
    assert gone not in tagger.classes_
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    for one in (tagger, again):
        assert "airships" in [tag.label for tag in one.predict(belts[:1], top_k=3)[0]]
        assert one.senses(stays)
        assert one.explain(belts[0], "airships").table()
        assert one.ambiguous_labels(top_k=3) == tagger.ambiguous_labels(top_k=3)


@pytest.mark.parametrize("model", ["xr-linear", "parabel", "one-vs-all"])
def test_unknown_words_alone_are_warned_of_once(model, shop):
    texts, lists = shop
    tagger = Tagger(model).fit(texts[:200], lists[:200])
    strange = ["qqq zzz", "xxyyzz", texts[0]]
    with pytest.warns(UnknownFeaturesWarning, match="2 of 3 instances") as caught:
        tagger.partial_fit(strange, [[tagger.classes_[0]]] * 3)
    assert len([w for w in caught if w.category is UnknownFeaturesWarning]) == 1
    assert "fit again on all data" in str(caught[0].message)
    with pytest.warns(UnknownFeaturesWarning, match="1 of 1 instances"):
        tagger.add_labels(["qqq zzz"], [["airships"]])
