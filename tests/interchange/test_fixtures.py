"""Models that PECOS 1.2.8 and omikuji 0.5.2 have saved, imported: the same predictions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import Tagger
from multitudes.interchange import import_model, library_of
from multitudes.interchange.levels import SURE

from .comparing import TOLERANCE, assert_same, expected_of
from .make_fixtures import FIXTURES, KEPT

CASES = [(group, case) for group, cases in KEPT.items() for case in cases]
MOST = 80_000  # bytes of all fixtures


def inputs_of(group: str):
    if group == "texts":
        return (FIXTURES / group / "texts.txt").read_text(encoding="utf-8").split("\n")
    return sp.csr_array(sp.load_npz(FIXTURES / group / "X_test.npz"))


def imported(group: str, case: str, n_labels: int | None = None) -> Tagger:
    names = None if n_labels is None else [f"label {i}" for i in range(n_labels)]
    return import_model(FIXTURES / group / case / "model", labels=names)


@pytest.mark.parametrize(("group", "case"), CASES)
def test_predictions_are_those_of_the_library(group, case):
    expected = expected_of(FIXTURES / group / case)
    tagger = imported(group, case, expected.shape[1])
    listed = int(np.diff(expected.indptr).max())
    assert_same(tagger.predict_ids(inputs_of(group), top_k=listed), expected)


@pytest.mark.parametrize(("group", "case"), CASES)
def test_a_saved_import_is_a_model_like_any_other(group, case, tmp_path):
    tagger = imported(group, case)
    tagger.save(tmp_path / "model")
    again, given = Tagger.load(tmp_path / "model", verify=True), inputs_of(group)
    assert type(again.model_) is type(tagger.model_)
    assert again.choice_ == tagger.choice_
    found, expected = again.predict_ids(given), tagger.predict_ids(given)
    assert np.array_equal(found.labels, expected.labels)
    assert np.array_equal(found.scores, expected.scores)
    batch, single = again.predict(given[:3]), [again.predict(given[i : i + 1])[0] for i in range(3)]
    assert batch == single


@pytest.mark.parametrize(("group", "case"), CASES)
def test_explanations_add_up_to_the_score(group, case):
    tagger, given = imported(group, case), inputs_of(group)
    found = tagger.predict_ids(given, top_k=len(tagger.classes_))
    full = tagger.model_.score_pairs(
        tagger.features_.transform(given),
        sp.csr_array(np.ones((len(found), len(tagger.classes_)), np.float32)),
    )
    logarithm = tagger.model_.score_function.startswith("log")
    for i in range(3):
        label = int(found.labels[i, 0])
        row = given[i] if group == "texts" else given[[i]]
        explanation = tagger.explain(row, tagger.classes_[label])
        score = float(found.scores[i, 0])
        assert explanation.score == pytest.approx(score, abs=TOLERANCE)
        value = full[i, label] if logarithm else np.exp(full[i, label])
        assert value == pytest.approx(score, abs=TOLERANCE)


def test_explanations_of_texts_name_their_words():
    tagger = imported("texts", "bigrams-and-characters")
    found = [tagger.explain("w1 Öl w1 w2", label) for label in tagger.classes_]
    names = {name for explanation in found for step in explanation.steps for name in step.names}
    assert names == {"w1", "Öl", "w2"}
    assert {"w1", "char:w1"} <= set(tagger.features_.feature_names)


def test_text_features_are_those_of_pecos():
    folder = FIXTURES / "texts" / "bigrams-and-characters"
    tagger = imported("texts", folder.name)
    found, expected = tagger.features_.transform(inputs_of("texts")), sp.load_npz(folder / "X.npz")
    assert found.dtype == np.float32
    assert found.has_sorted_indices
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-6)


def test_labels_of_texts_have_the_names_of_items():
    tagger = imported("texts", "bigrams-and-characters")
    assert tagger.takes_texts_
    # Two pairs of items have the same name.
    assert tagger.classes_ == (
        "item 0 #0",
        "item 0 #1",
        "item 1 #2",
        "item 1 #3",
        "item 4",
        "item 5",
    )


def test_labels_are_numbers_without_names():
    assert imported("pecos", "binary").classes_ == tuple(map(str, range(16)))


def test_omikuji_scales_rows_and_pecos_does_not():
    X = inputs_of("omikuji")[:5]
    forest, tree = imported("omikuji", "uneven"), imported("pecos", "binary")
    before = [t.predict_ids(X).scores for t in (forest, tree)]
    after = [t.predict_ids(2 * X).scores for t in (forest, tree)]
    np.testing.assert_allclose(after[0], before[0], atol=1e-6)
    assert abs(after[1] - before[1]).max() > 0.01


def test_leaves_above_the_last_level_are_padded_with_sure_clusters():
    tree = imported("omikuji", "uneven").model_.trees_[0]
    passing = [
        int((np.diff(offsets)[parents] == 1)[level.bias == SURE].sum())
        for level, offsets, parents in zip(
            tree.levels_, tree.tree_.offsets, map(tree.tree_.parents, range(tree.tree_.depth)),
            strict=True,
        )
    ]  # fmt: skip
    assert sum(passing) > 0


def test_labels_that_omikuji_never_saw_are_never_predicted():
    tagger = imported("omikuji", "uneven")
    unseen = {"6", "13"}  # see `generated`
    assert unseen <= set(tagger.classes_)
    rows = tagger.predict(inputs_of("omikuji"), top_k=len(tagger.classes_))
    assert not unseen & {tag.label for tags in rows for tag in tags}
    assert all(tag.score > 0 for tags in rows for tag in tags)


def test_more_names_than_labels_that_omikuji_saw():
    assert len(imported("omikuji", "sparse", n_labels=40).classes_) == 40


@pytest.mark.parametrize(("group", "case"), [("pecos", "permuted"), ("omikuji", "sparse")])
def test_imports_can_be_updated(group, case):
    tagger = imported(group, case)
    X, name = inputs_of(group)[:10], tagger.classes_[0]
    before = tagger.explain(X[:1], name).score
    assert tagger.partial_fit(X, [[name]] * 10).explain(X[:1], name).score > before
    tagger.add_labels(X, [["new"]] * 10)
    assert any("new" in [tag.label for tag in tags] for tags in tagger.predict(X))
    tagger.remove_labels(["new"])
    assert "new" not in tagger.classes_


def test_fixtures_are_recognized_and_small():
    folders = [FIXTURES / group / case / "model" for group, case in CASES]
    assert [library_of(folder) for folder in folders] == [
        "omikuji" if "omikuji" in folder.parts else "pecos" for folder in folders
    ]
    assert library_of(FIXTURES) is None
    assert library_of(FIXTURES / "missing") is None
    assert library_of(__file__) is None
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file()) < MOST


def test_both_forms_of_omikuji_weights_are_among_them():
    trees = [path.read_bytes() for path in FIXTURES.rglob("tree*.cbor")]
    assert any(b"Sparse" in tree for tree in trees)
    assert any(b"Dense" in tree for tree in trees)
