import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import Lexical
from multitudes.errors import ConfigError, DataError, StoreError
from multitudes.lexical import EVIDENCE, names_of, training
from multitudes.lexical import index as indexing

NAMES = [
    "gardens; horticulture", "castles", "history of art", "art", "mercury (planet)",
    "field::biology", "",
]  # fmt: skip


def found(model, text, top_k=7):
    kept = model.predict([text], top_k=top_k)
    return [label for label in kept.labels[0].tolist() if label >= 0]


@pytest.fixture(scope="module")
def cold():
    return Lexical().fit(label_texts=NAMES)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("belts", ["belts"]),
        ("belts; sashes\n straps ", ["belts", "sashes", "straps"]),
        ("mercury (planet)", ["mercury (planet)", "mercury"]),
        ("field::biology", ["field::biology", "biology"]),
        ("arts > music", ["arts > music", "music"]),
        (["a; b", "c"], ["a; b", "c"]),
        (" ;; ", []),
    ],
)
def test_names_of_a_label(text, names):
    assert names_of(text) == names


def test_other_forms_of_a_name_match(cold):
    assert found(cold, "The garden of the castle")[:2] in ([0, 1], [1, 0])
    assert found(cold, "horticultural") == [0]
    assert found(cold, "Mercury and its moons") == [4]
    assert found(cold, "biology") == [5]
    assert found(cold, "") == []
    assert found(cold, "nothing of interest") == []


def test_a_longer_name_comes_before_what_it_holds(cold):
    assert found(cold, "a history of art") == [2, 3]


def test_scores_are_probabilities_in_order(cold):
    kept = cold.predict(["a history of art and gardens"], top_k=5)
    scores = kept.scores[0][kept.labels[0] >= 0]
    assert ((scores > 0) & (scores < 1)).all()
    assert (np.diff(scores) <= 0).all()
    assert kept.labels.shape == (1, 5)


def test_labels_can_be_restricted(cold):
    kept = cold.predict(["a history of art"], top_k=3, labels=[3, 1])
    assert kept.labels.tolist() == [[3, -1, -1]]


def labeled(n=600):
    """The names of labels 0 and 1 are right when they come first; that of label 2 never is."""
    rng = np.random.default_rng(0)
    names = ["oak", "elm", "the plan"]
    texts, Y = [], np.zeros((n, 3))
    for row in range(n):
        first, other = rng.permutation(2)
        texts.append(f"{names[first]} " + "of the plan " * 6 + names[other])
        Y[row, first] = 1
    return names, texts, sp.csr_array(Y)


def test_weights_are_learned_from_labeled_texts():
    names, texts, Y = labeled()
    model = Lexical().fit(texts, Y, label_texts=names)
    assert model.learned_
    weights = dict(zip(EVIDENCE, model.weights_.weights, strict=True))
    assert weights["early"] > 0
    kept = model.predict(texts[:50], top_k=3)
    assert (kept.labels[:, 0] == Y[:50].toarray().argmax(axis=1)).all()
    assert (kept.labels[:, 2] == 2).all()
    assert kept.scores[:, 0].min() > 0.9
    assert kept.scores[:, 2].max() < 0.1


def test_texts_can_say_how_rare_words_are_without_labels():
    names = ["oak", "plan"]
    texts = ["a plan"] * 50 + ["an oak"]
    model = Lexical().fit(texts, label_texts=names)
    assert not model.learned_
    weights = dict(zip(model.index_.stems.names, model.index_.weights, strict=True))
    assert weights["oak"] > weights["plan"]


def test_few_matches_leave_the_constants():
    model = Lexical().fit(["an oak", "an elm"], np.eye(2), label_texts=["oak", "elm"])
    assert not model.learned_
    assert model.label_evidence_.n_right.tolist() == [1, 1]
    assert not Lexical(learn=False).fit(*labeled()[1:], label_texts=labeled()[0]).learned_


def test_each_text_is_read_in_its_language():
    names = [["Häuser", "houses"], ["Gärten", "gardens"]]
    texts = ["das Haus und der Garten", "the house and the garden"]
    model = Lexical(language=("german", "english")).fit(label_texts=names)
    assert [sorted(row) for row in model.predict(texts, top_k=2).to_lists()] == [[0, 1]] * 2
    auto = Lexical().fit(texts * 5, label_texts=names)
    assert set(auto.index_.languages) == {"german", "english"}


def test_what_speaks_for_a_label(cold):
    why = cold.explain("Old castles, and the art of castle gardens", 1).named("castles")
    assert (why.name, why.words, why.missing) == ("castles", ("castles", "castle"), 0)
    kept = cold.predict(["Old castles, and the art of castle gardens"], top_k=7)
    assert why.score == kept.scores[0][kept.labels[0] == 1][0]
    odds = np.log(why.score / (1 - why.score))
    assert sum(why.evidence.values()) == pytest.approx(odds, abs=1e-4)
    assert 'name "castles": castles, castle' in why.table()
    assert "castles" in why._repr_html_()
    assert why.to_dict()["words"] == ["castles", "castle"]
    partly = cold.explain("history", 2)
    assert (partly.name, partly.missing) == ("history of art", 2)
    none = cold.explain("nothing", 1)
    assert (none.score, none.name) == (0.0, "")
    assert "no name" in none.table()


def test_labels_are_added_by_name_and_removed():
    model = Lexical().fit(label_texts=NAMES)
    before = model.predict(["the garden of a castle"], top_k=7)
    model.add_labels(["moats; ditches", "towers"], [["a deep moat"], []])
    assert model.n_labels_ == 9
    assert model.label_evidence_.n_right.tolist() == [0] * 7 + [1, 0]
    assert found(model, "a ditch around the tower", top_k=9) in ([7, 8], [8, 7])
    model.remove_labels([0, 2])
    assert model.n_labels_ == 7
    assert set(found(model, "the garden of a castle, a moat")) == {0, 5}
    assert before.n_labels == 7


def test_further_texts_change_how_often_a_label_is_right():
    names, texts, Y = labeled()
    model = Lexical().fit(texts, Y, label_texts=names)
    before = model.predict(["the plan"], top_k=1).scores[0, 0]
    always = sp.csr_array(np.tile([0.0, 0.0, 1.0], (200, 1)))
    model.partial_fit(["the plan"] * 200, always)
    assert model.predict(["the plan"], top_k=1).scores[0, 0] > before
    assert model.label_evidence_.n_instances.tolist()[2] == 200


def test_counts_of_texts_survive_a_change_of_labels():
    model = Lexical().fit(["a plan"] * 9 + ["an oak"], label_texts=["oak", "plan"])
    counts = dict(zip(model.index_.stems.names, model.index_.text_counts.tolist(), strict=True))
    assert counts == {"oak": 1, "plan": 9}
    model.add_labels(["ashes"])
    counts = dict(zip(model.index_.stems.names, model.index_.text_counts.tolist(), strict=True))
    assert counts == {"ash": 0, "oak": 1, "plan": 9}


def test_more_matches_than_there_is_room_for_at_first(monkeypatch):
    names = [f"oak {word}" for word in ("elm", "ash", "fir", "yew", "fig")]
    texts = ["oak elm ash fir yew fig"] * 7
    whole = Lexical().fit(label_texts=names).predict(texts, top_k=5)
    monkeypatch.setattr(indexing, "ROOM", 2)
    parts = Lexical().fit(label_texts=names).predict(texts, top_k=5)
    np.testing.assert_array_equal(parts.labels, whole.labels)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Lexical().fit(), DataError, "give label_texts"),
        (lambda: Lexical().fit(label_texts="oak"), DataError, "must be a list"),
        (lambda: Lexical().fit(label_texts=[]), DataError, "no labels"),
        (lambda: Lexical().fit(label_texts=["oak", 3]), DataError, r"label_texts\[1\] must be"),
        (lambda: Lexical().fit(["x"], [[1, 0]], label_texts=["a"]), DataError, "label"),
        (lambda: Lexical().fit([1], [[1]], label_texts=["a"]), DataError, "text 0 is not a str"),
        (lambda: Lexical(language="klingon").fit(label_texts=["a"]), ConfigError, "language"),
        (lambda: Lexical(language=("irish", "hindi")).fit(label_texts=["a"]), ConfigError, "alone"),
        (lambda: Lexical(language=[]).fit(label_texts=["a"]), ConfigError, "at least one"),
        (lambda: Lexical(min_coverage=0).fit(label_texts=["a"]), ConfigError, "min_coverage"),
        (lambda: Lexical(max_instances=0).fit(label_texts=["a"]), ConfigError, "max_instances"),
        (lambda: Lexical().fit(label_texts=["a"]).predict("oak"), DataError, "wrap it in a list"),
        (lambda: Lexical().fit(label_texts=["a"]).add_labels([]), DataError, "at least one"),
        (lambda: Lexical().fit(label_texts=["a"]).add_labels(["b"], []), DataError, "examples"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_labels_without_any_word_are_never_found():
    model = Lexical().fit(label_texts=["", "--", "()"])
    assert model.n_labels_without_text_ == 3
    assert model.predict(["anything"], top_k=3).labels.tolist() == [[-1, -1, -1]]


@pytest.mark.parametrize(
    ("where", "name", "change"),
    [
        ("arrays", "stems", lambda a: a + 100),
        ("arrays", "words", lambda a: a - 100),
        ("arrays", "sources", lambda a: a + 100),
        ("arrays", "name_labels", lambda a: a + 100),
        ("arrays", "starts", lambda a: a[::-1].copy()),
        ("arrays", "starts", lambda a: np.concatenate([a[:1], a])),
        ("arrays", "text_counts", lambda a: a - 1),
        ("arrays", "weights", lambda a: a * np.nan),
        ("arrays", "n_right", lambda a: a[:-1]),
        ("config", "n_labels", lambda n: n - 1),
        ("config", "languages", lambda _: ["klingon"]),
        ("config", "languages", lambda _: 3),
        ("config", "coverage", lambda _: 0.0),
        ("config", "learned", lambda _: 1),
        ("config", "language", lambda _: 7),
        ("config", "languages", lambda _: ["auto"]),
        ("config", "max_instances", lambda _: 0),
    ],
)
def test_a_state_that_was_changed_is_refused(cold, where, name, change):
    state = cold.to_state()
    held = dict(getattr(state, where))
    held[name] = change(held[name])
    with pytest.raises(StoreError):
        Lexical.check_state(dataclasses.replace(state, **{where: held}))


def test_weights_are_learned_from_no_more_matches_than_fit_into_memory(monkeypatch):
    names = [f"{first} {second}" for first in "abcdefgh" for second in ("garden", "castle")]
    texts = [f"{first} garden and castle, text {i}" for i in range(40) for first in "abcdefgh"]
    rows = np.arange(len(texts))
    labels = sp.csr_array((np.ones(len(texts)), (rows, 2 * (rows % 8))), shape=(len(texts), 16))
    seen = []

    def learned(evidence, is_right):
        seen.append(len(evidence))
        return really(evidence, is_right)

    really = training.MatchWeights.learned
    monkeypatch.setattr(training.MatchWeights, "learned", learned)
    whole = Lexical(min_coverage=0.3).fit(texts, labels, label_texts=names)
    monkeypatch.setattr(training, "MOST_MATCHES", 400)
    part = Lexical(min_coverage=0.3).fit(texts, labels, label_texts=names)
    assert seen[0] > 1_000
    assert 200 < seen[1] <= 400
    assert whole.learned_
    assert part.learned_
    for one in (whole, part):  # and counts are of all texts all the same
        assert one.label_evidence_.n_instances.sum() == len(texts)
        assert one.predict(["c garden, castle"], top_k=1).labels.tolist() == [[4]]
