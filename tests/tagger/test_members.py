"""Taggers of ensembles: members by name, taggers fused, and all that a tagger does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import Dataset, Ensemble, OneVsAll, Tagger, XRLinear
from multitudes.disentangle import Disentangled
from multitudes.errors import ConfigError
from multitudes.tagger.members import fused_tagger, named_members
from multitudes.tagger.training import training_notes
from multitudes.tagger.updating import update_tagger
from tests.contract.cases import NAMES, texts

TEXTS, Y = texts()
LABELS = [[NAMES[label] for label in Y[[row]].indices] for row in range(len(TEXTS))]


@pytest.fixture(scope="module")
def tagger():
    members = named_members(["one-vs-all", "one-vs-all@chars"])
    return Tagger(Ensemble(members)).fit(TEXTS, LABELS)


def test_members_by_name():
    members = dict(
        named_members(
            ["xr-linear", "parabel", "xr-linear@chars"],
            settings={"parabel.n_trees": 2, "xr-linear@chars.features.min_df": 3},
            overlap=2,
        )
    )
    words, model = members["xr-linear"]
    assert isinstance(model, Disentangled)
    assert members["parabel"][0] is words  # features of one name are shared
    assert members["parabel"][1].model.n_trees == 2
    assert members["xr-linear@chars"][0].min_df == 3
    assert members["xr-linear@chars"][0].char_ngrams == (3, 5)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["xr-liner"], "there is no model 'xr-liner' for a member: did you mean 'xr-linear'"),
        (["xr-linear@char"], "there are no features 'char'"),
        (["parabel", "parabel"], "'parabel' is there twice"),
        (["prime@chars"], "prime reads texts, without features"),
    ],
)
def test_members_that_there_are_none_of(names, message):
    pytest.importorskip("torch")
    with pytest.raises(ConfigError, match=message):
        named_members(names)
    with pytest.raises(ConfigError, match="there is no setting 'n_tree'"):
        named_members(["parabel"], settings={"parabel.n_tree": 2})


def test_it_does_what_a_tagger_does(tagger, tmp_path):
    assert tagger.choice_ == "an ensemble of one-vs-all, one-vs-all@chars"
    tagger.calibrate(TEXTS, LABELS)
    assert tagger.evaluate(TEXTS, LABELS).values["P@1"] == 1
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model", verify=True)
    for ask in ("predict", "predict_proba", "predict_sets"):
        assert getattr(again, ask)(TEXTS) == getattr(tagger, ask)(TEXTS)
    assert str(again.explain(TEXTS[1], "blue")) == str(tagger.explain(TEXTS[1], "blue"))
    assert "one-vs-all@chars: rank 1" in str(tagger.explain(TEXTS[1], "blue"))
    assert tagger.explain("...", "blue").note.startswith("the text has no words")
    assert str(tagger.model_.report_) in training_notes(tagger.model_)
    with pytest.raises(ConfigError, match="computes on the CPU alone"):
        tagger.to("cuda")


def test_an_update_reaches_all_members(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    changed = Tagger.load(tmp_path / "model")
    new = ["a pink thing", "a thing, pink", "number pink", "a red pink thing"]
    names = [["pink"], ["pink"], ["pink"], ["pink", "red"]]
    report = update_tagger(changed, Dataset.from_lists(new, names), remove=["black"])
    assert report.labels_added == ("pink",)
    assert report.labels_removed == ("black",)
    assert len(changed.classes_) == 6
    assert {member.model.n_labels_ for member in changed.model_.members_} == {6}
    assert "black" not in {tag.label for tag in changed.predict(["black"], top_k=9)[0]}


def test_a_tagger_over_features():
    X = sp.csr_array(np.random.default_rng(0).random((48, 5), np.float32))
    dataset = Dataset(Y=Y, X=X, label_names=list(NAMES))
    whole = Tagger(Ensemble([XRLinear(), OneVsAll()], fusion="rank")).fit(dataset)
    assert not whole.takes_texts_
    assert len(whole.predict(X, top_k=2)[0]) == 2
    assert "feature 3" in str(whole.explain(X[:1], "red"))
    taggers = {name: Tagger(name).fit(dataset) for name in ("one-vs-all", "xr-linear")}
    for given in (None, dataset):
        both = fused_tagger(taggers, given, fusion="rank")
        assert both.predict(X[:3], top_k=2)[0][0].label in NAMES
    words = {"words": Tagger("one-vs-all").fit(TEXTS, LABELS)}
    with pytest.raises(ConfigError, match="some of the models read texts"):
        fused_tagger(taggers | words)


def test_fitted_taggers_are_fused(tmp_path):
    first = Tagger("one-vs-all").fit(TEXTS, LABELS)
    blue = [row for row in range(48) if "red" not in LABELS[row]]
    second = Tagger("one-vs-all", features="chars")
    second.fit([TEXTS[row] for row in blue], [LABELS[row] for row in blue])
    dataset = Dataset.from_lists(TEXTS, LABELS)
    both = fused_tagger({"a": first, "b": second}, dataset, fusion="learned", train=dataset)
    assert both.model_.report_.fusion == "learned"
    assert both.model_.label_counts_.sum() == Y.nnz
    assert both.predict_sets(["a red thing"])[0][0].label == "red"
    both.save(tmp_path / "both")
    assert Tagger.load(tmp_path / "both").predict(TEXTS) == both.predict(TEXTS)
    assert first.predict(TEXTS[:1]) == Tagger("one-vs-all").fit(TEXTS, LABELS).predict(TEXTS[:1])
    unlearned = fused_tagger({"a": first, "b": second})
    assert unlearned.calibrated_ is None
    assert unlearned.predict(["a red thing"], top_k=1)[0][0].label == "red"
