"""Ensemble: members in all their forms, what is held out, and what a fitted one can be told."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from multitudes import Ensemble, OneVsAll, Tagger, TfidfFeatures, XRLinear, load, save
from multitudes.errors import ConfigError, DataError, StoreError
from multitudes.fusion import HeldOutConfig, LearnedFusion, RankFusion
from multitudes.types import Predictions
from tests.contract.cases import NAMES, features, texts

CHARS = {"word_ngrams": None, "char_ngrams": (2, 3)}


class Popular(BaseEstimator):
    """Lists labels by how often they are used; remembers what it was fitted on."""

    seen: list[int] = []

    def fit(self, X, y):
        Popular.seen.append(y.shape[0])
        self.counts_ = np.asarray(y.sum(axis=0)).ravel()
        return self

    def predict(self, X, *, top_k=5):
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        scores = sp.csr_array(np.tile(self.counts_.astype(np.float32), (n, 1)))
        return Predictions.from_csr(scores, top_k)


@pytest.fixture(scope="module")
def fitted():
    """Two members over texts, fused by rank."""
    X, Y = texts()
    chars = TfidfFeatures(**CHARS)
    ensemble = Ensemble({"words": OneVsAll(), "chars": (chars, OneVsAll())}, fusion="rank")
    return ensemble.fit(X, Y, label_texts=NAMES)


def test_members_in_all_their_forms():
    X, Y = texts()
    tagger, chars = Tagger("one-vs-all"), TfidfFeatures(**CHARS)
    given = [OneVsAll(), (chars, OneVsAll()), tagger, ("mine", (chars, XRLinear()))]
    ensemble = Ensemble(given, fusion="rank").fit(X, Y)
    names = [member.name for member in ensemble.members_]
    assert names == ["OneVsAll", "OneVsAll 2", "one-vs-all", "mine"]
    shared = [member.features for member in ensemble.members_]
    assert shared[1] is shared[3]  # fitted once
    assert ensemble.reads_texts
    assert not hasattr(chars, "vocabularies_")
    assert not hasattr(tagger, "model_")
    assert ensemble.score(X, Y) == 1


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "members must be a list"),
        ("xr-linear", "members must be a list"),
        (["xr-linear"], r"members\[0\] must be a model"),
        ([XRLinear], r"members\[0\] must be a model"),
        ([(3, XRLinear())], "are not features"),
        ([("a", XRLinear()), ("a", OneVsAll())], "two members are called 'a'"),
        ([(TfidfFeatures(), Tagger("xr-linear"))], "has features of its own"),
    ],
)
def test_members_that_are_none(members, message):
    with pytest.raises(ConfigError, match=message):
        Ensemble(members).fit(*features())


def test_an_unknown_fusion_is_refused_before_anything_is_trained():
    Popular.seen.clear()
    with pytest.raises(ConfigError, match=r"fusion must be one of \['auto', 'rank'"):
        Ensemble([Popular()], fusion="average").fit(*features())
    assert Popular.seen == []


@pytest.mark.parametrize(("refit", "sizes"), [(True, [105, 150]), (False, [105])])
def test_what_is_held_out_is_not_learned_from(refit, sizes):
    X, Y = features()
    Popular.seen.clear()
    ensemble = Ensemble([XRLinear(), Popular()], held_out=HeldOutConfig(refit=refit)).fit(X, Y)
    assert Popular.seen == sizes  # 45 of 150 held out, at most three tenths
    assert ensemble.report_.n_held_out == 45
    assert set(ensemble.report_.fusions) == {"rank", "calibrated", "learned"}
    best = max(ensemble.report_.members.values())
    assert ensemble.report_.fusions[ensemble.report_.fusion] > best - 0.02
    assert "members alone: XRLinear" in str(ensemble.report_)
    np.testing.assert_array_equal(ensemble.label_counts_, np.asarray(Y.sum(axis=0)).ravel())


def test_how_much_is_held_out():
    config = HeldOutConfig()
    assert [config.size(n) for n in (0, 10, 1000, 5000, 50_000, 10**6)] == [
        0, 3, 300, 1000, 5000, 20_000,
    ]  # fmt: skip


def test_members_that_are_fitted_are_used_as_they_are():
    X, Y = features()
    model = XRLinear().fit(X, Y)
    before = model.predict(X)
    ensemble = Ensemble([model, OneVsAll().fit(X, Y)], fusion="rank")
    for one in (ensemble, clone(ensemble)):
        one.fit(X, Y)
        assert one.members_[0].model is not model  # a copy, which may learn
        found = one.members_[0].model.predict(X)
        np.testing.assert_array_equal(found.scores, before.scores)
        assert not one.label_counts_.any()  # counts of what members learned from are not known
    ensemble.partial_fit(X[:50], Y[:50])
    np.testing.assert_array_equal(model.predict(X).scores, before.scores)
    with pytest.raises(DataError, match="was fitted on 40 labels, and there are 39"):
        Ensemble([model]).fit(X, Y[:, :39])


def test_taggers_with_other_labels_vote_for_what_they_know():
    X, Y = texts()
    names = [[NAMES[label] for label in Y[[row]].indices] for row in range(48)]
    everything = Tagger("one-vs-all").fit(X, names)
    no_red = [row for row in range(48) if "red" not in names[row]]
    some = Tagger("one-vs-all").fit([X[r] for r in no_red], [names[r] for r in no_red])
    ensemble = Ensemble([("all", everything), ("some", some)])
    known = ensemble.label_names_of_members()
    assert sorted(known) == sorted(NAMES)
    ensemble.join(len(known), label_names=known)
    red = known.index("red")
    assert ensemble.predict(["a red thing"], top_k=1).labels.tolist() == [[red]]
    says = ensemble.explain("a red thing", red).members
    assert [one.rank for one in says] == [1, None]
    with pytest.raises(DataError, match="give label_names"):
        Ensemble([everything, some]).fit(X, Y)
    whole = Tagger(Ensemble([everything, some], fusion="rank")).fit(X[:30], names[:30])
    assert sorted(whole.classes_) == sorted(NAMES)


def test_a_learned_fusion_needs_instances():
    _, Y = texts()
    with pytest.raises(DataError, match="too few to learn a fusion from"):
        Ensemble([OneVsAll(), OneVsAll()], fusion="learned").fit(features()[0][:40], Y[:40])
    few = Ensemble([OneVsAll(), OneVsAll()]).fit(features()[0][:40], Y[:40])
    assert few.report_.n_held_out == 0
    assert "without anything learned" in str(few.report_)


def test_an_explanation_says_which_member_said_what_and_why(fitted):
    said = fitted.explain("a red thing", 0).named("red")
    assert said.score == fitted.predict(["a red thing"], top_k=1).scores[0, 0]
    assert [one.member for one in said.members] == ["words", "chars"]
    assert sum(one.share for one in said.members) == pytest.approx(said.score)
    assert dict(said.members[0].why.steps[0].words)["red"] > 0
    shown = said.table()
    assert shown.startswith("red: score 1.0000 by rank fusion")
    assert "words: rank 1" in shown
    assert "char:red" in shown
    plain = said.to_dict()
    assert (plain["label"], plain["score"], plain["fusion"]) == ("red", said.score, "rank")
    words, chars = plain["members"]
    assert words["member"] == "words"
    for told, one in zip((words, chars), said.members, strict=True):
        assert (told["rank"], told["score"], told["share"]) == (one.rank, one.score, one.share)
    assert chars["why"]["label"] == "red"
    assert "by rank" not in said._repr_html_()
    with pytest.raises(DataError, match="label must be an id"):
        fitted.explain("a red thing", 6)


@pytest.mark.filterwarnings("ignore::multitudes.errors.UnknownFeaturesWarning")
def test_labels_come_and_go(fitted, tmp_path):
    X, Y = texts()
    changed = load(_saved(fitted, tmp_path / "first"))
    grown = sp.csr_array(np.vstack([np.eye(7, dtype=np.float32)[[6, 6, 6, 0]]]))
    new = ["a pink thing", "pink", "a pink one", X[0]]
    changed.add_labels(new, grown, label_texts=["pink"])
    assert changed.n_labels_ == 7
    assert changed.predict(["pink"], top_k=1).labels.tolist() == [[6]]
    assert changed.label_counts_.tolist()[6] == 3
    changed.remove_labels([0, 2])
    assert changed.n_labels_ == 5
    assert changed.predict(["pink"], top_k=1).labels.tolist() == [[4]]
    again = load(_saved(changed, tmp_path / "second"))
    np.testing.assert_array_equal(again.predict(X).labels, changed.predict(X).labels)
    with pytest.raises(DataError, match="more columns than the 5 known labels"):
        changed.add_labels(X, Y[:, :5])


def _saved(ensemble, folder):
    save(ensemble, folder)
    return folder


def test_a_member_that_cannot_forget_keeps_labels_to_itself():
    X, Y = features()
    ensemble = Ensemble([Popular(), XRLinear()], fusion="rank").fit(X, Y)
    counts = ensemble.members_[0].model.counts_
    order = [one for one in np.argsort(-counts, kind="stable").tolist() if one > 1]
    ensemble.remove_labels([0, 1])
    found = ensemble.members_[0].candidates(X[:1], top_k=40, n_labels=38)
    assert (found.labels[0, :38] + 2).tolist() == order
    assert found.labels[0, 38:].tolist() == [-1, -1]
    with pytest.warns(UserWarning, match="Popular cannot learn from further instances"):
        ensemble.partial_fit(X, Y[:, 2:])
    alone = Ensemble([Popular()], fusion="rank").fit(X, Y)
    with pytest.raises(ConfigError, match="none of the members can take new labels"):
        alone.add_labels(X, sp.hstack([Y, Y[:, :1]]).tocsr())
    with pytest.raises(StoreError, match="'Popular' has a Popular, which cannot be saved"):
        alone.to_state()


def test_over_features(tmp_path):
    X, Y = features()
    ensemble = Ensemble([XRLinear(), OneVsAll()], fusion=LearnedFusion(candidates=20)).fit(X, Y)
    assert not ensemble.reads_texts
    again = load(_saved(ensemble, tmp_path / "model"))
    assert again.fusion == "learned"
    assert again.n_features_in_ == ensemble.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(again.predict(X).scores, ensemble.predict(X).scores)
    with pytest.raises(DataError, match="40"):
        again.predict(X[:, :39])
    assert ensemble.explain(X[:1], 3).fusion == "learned"


def test_names_of_columns_are_kept():
    pd = pytest.importorskip("pandas")
    X, Y = features()
    columns = [f"column {i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X.toarray(), columns=columns)
    ensemble = Ensemble([OneVsAll(), OneVsAll()], fusion="rank").fit(frame, Y)
    assert ensemble.feature_names_in_.tolist() == columns


def test_a_learned_fusion_that_reads_names_takes_new_ones():
    X, Y = texts()
    ensemble = Ensemble([OneVsAll(), (TfidfFeatures(**CHARS), OneVsAll())], fusion="learned")
    ensemble.fit(X * 4, sp.vstack([Y] * 4).tocsr(), label_texts=NAMES)
    assert ensemble.fusion_.names_ is not None
    grown = sp.csr_array(np.eye(7, dtype=np.float32)[[6, 6, 6]])
    ensemble.add_labels(["a pink thing", "pink", "a pink one"], grown, label_texts=["pink"])
    assert ensemble.n_labels_ == 7
    assert 6 in ensemble.predict(["pink"], top_k=2).labels[0]


@pytest.mark.parametrize("given", [["a", None], [3], "text", [b"x"]])
def test_texts_that_are_none(fitted, given):
    with pytest.raises(DataError):
        fitted.predict(given)


def test_what_is_asked_for_may_be_more_than_there_is(fitted):
    assert fitted.predict([], top_k=3).shape == (0, 3)
    assert fitted.predict([""], top_k=1000).shape == (1, 6)


def test_settings_of_a_fusion_that_is_handed_over():
    X, Y = features()
    ensemble = Ensemble([XRLinear(), OneVsAll()], fusion=RankFusion(weights=[1, 0])).fit(X, Y)
    alone = ensemble.members_[0].model.predict(X, top_k=3)
    np.testing.assert_array_equal(ensemble.predict(X, top_k=3).labels, alone.labels)


def test_what_is_set_where_nothing_is_said():
    assert Ensemble([]).get_params(deep=False) == {
        "members": [], "fusion": "auto", "candidates": 50, "random_state": 0, "n_jobs": None,
        "held_out": HeldOutConfig(share=0.1, at_most=20_000, refit=True),
    }  # fmt: skip


def test_members_joined_with_weights_and_nothing_to_learn_from():
    X, Y = texts()
    words = TfidfFeatures()
    members = [(words, OneVsAll().fit(words.fit_transform(X), Y)), OneVsAll().fit(*features())]
    with pytest.raises(ConfigError, match="the member 'b' has not been fitted"):
        Ensemble([("a", members[0]), ("b", OneVsAll())]).join(6)
    ensemble = Ensemble(members[:1] * 2).join(6, weights=[3, 1])
    assert ensemble.fusion_.weights_.table.tolist() == [[0.75, 0.25]]
    assert ensemble.report_.fusion == "rank"
    assert ensemble.reads_texts
    assert ensemble.predict(X[:2]).shape == (2, 5)
    assert not Ensemble(members[1:]).join(40).reads_texts


def test_labels_calibrated_on_what_the_fusion_was_learned_on():
    X, Y = features()
    models = [XRLinear().fit(X, Y), OneVsAll().fit(X, Y)]
    ensemble = Ensemble(models, fusion="learned", random_state=4).fit(X, Y)
    found = ensemble.out_of_fold(X, Y)
    assert found.shape == (150, 5)
    lists = [model.predict(X, top_k=50) for model in models]
    half = np.sort(np.random.default_rng(4).permutation(150)[::2])
    other = np.setdiff1d(np.arange(150), half)
    fusion = LearnedFusion(random_state=4).fit(
        [one[other] for one in lists], Y[other], label_counts=np.zeros(40)
    )
    expected = fusion.fuse([one[half] for one in lists], top_k=5)
    np.testing.assert_array_equal(found[half].scores, expected.scores)
    with pytest.raises(ConfigError, match="top_k"):
        ensemble.out_of_fold(X, Y, top_k=0)


def test_a_copy_is_unfitted_and_keeps_fitted_members():
    X, Y = features()
    fitted = OneVsAll().fit(X, Y)
    given = {"new": XRLinear(branching=4), "old": fitted}
    for members in (given, list(given.values())):
        ensemble = Ensemble(members, candidates=9, fusion=RankFusion(constant=2), random_state=5)
        copy = clone(ensemble.fit(X, Y))
        assert not hasattr(copy, "members_")
        assert isinstance(copy.members, type(members))
        new, old = copy.members.values() if members is given else copy.members
        assert old is fitted
        assert new is not given["new"]
        assert new.branching == 4
        assert (copy.candidates, copy.random_state) == (9, 5)
        assert copy.fusion == ensemble.fusion is not copy.fusion


def test_candidates_are_what_members_are_asked_for_at_least():
    X, Y = features()
    asked = []

    class Asked(Popular):
        def predict(self, X, *, top_k=5):
            asked.append(top_k)
            return super().predict(X, top_k=top_k)

    ensemble = Ensemble([Asked()], fusion="rank", candidates=8).fit(X, Y)
    assert asked == [8]
    ensemble.predict(X)
    ensemble.predict(X, top_k=20)
    ensemble.predict(X, top_k=1000)
    assert asked == [8, 8, 20, 40]  # there are no more labels
    with pytest.raises(ConfigError, match="candidates"):
        Ensemble([Popular()], candidates=0).fit(X, Y)
    with pytest.raises(ConfigError, match="top_k"):
        ensemble.predict(X, top_k=0)


def test_members_that_need_texts_of_labels_or_keep_instances_are_known():
    class Needs(Popular):
        needs_label_texts = True

    class Keeps(Popular):
        instances_ = ("kept",)

    assert Ensemble([Popular(), Needs()]).needs_label_texts
    assert not Ensemble([Popular()]).needs_label_texts
    assert not Ensemble([Needs().fit(*features())]).needs_label_texts
    assert Ensemble([Popular()]).instances_ is None
    ensemble = Ensemble([Popular(), Keeps()], fusion="rank").fit(*features())
    assert ensemble.instances_ == ("kept",)


def test_an_explanation_of_a_label_that_nobody_lists():
    X, Y = features()
    ensemble = Ensemble([OneVsAll(), XRLinear()], fusion="rank", candidates=2).fit(X, Y)
    listed = ensemble.predict(X[:1], top_k=4).labels[0].tolist()
    said = ensemble.explain(X[:1], 39 if 39 not in listed else 38)
    assert said.score == 0
    assert [(one.rank, one.share) for one in said.members] == [(None, 0), (None, 0)]
