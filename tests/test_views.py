"""What notebooks show is HTML that says what the object says, and nothing that a label injects."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context

from multitudes import Dataset, Tagger, evaluate, views
from multitudes.disentangle import Ambiguity
from multitudes.types import Predictions

BAD = "<script>alert('x')</script> & \"more\""
TEXTS = ["red apple", "red belt", "blue belt", "green apple"] * 10
NAMES = [["fruit", BAD], ["belts"], ["belts"], ["fruit"]] * 10


class Reader(HTMLParser):
    """The text of a page and its tags; fails if a tag is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.tags, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        assert not [value for name, value in attrs if name.startswith("on")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(shown: object) -> Reader:
    reader = Reader()
    reader.feed(str(shown))
    assert reader.open == []
    assert reader.tags <= {"table", "tr", "th", "td", "div", "span", "b", "small"}
    return reader


def text_of(shown: object) -> str:
    return " ".join(" ".join(read(shown).text).split())


@pytest.fixture(scope="module")
def tagger():
    settings = {"overlap": 2, "max_leaf_size": 2, "branching": 2}
    return Tagger("xr-linear", settings=settings, n_jobs=1).fit(TEXTS, NAMES)


def test_values_are_escaped_once():
    assert views.escaped("a < b") == "a &lt; b"
    assert views.escaped(views.escaped("a < b")) == "a &lt; b"
    assert text_of(views.table([BAD], [[BAD]])) == f"{BAD} {BAD}"


def test_the_color_says_for_or_against_and_how_much():
    strong, weak, against = (views.weighted("w", v, largest=2.0) for v in (2.0, 0.5, -2.0))
    assert f"rgba({views.FOR}, {views.STRONGEST:.2f})" in strong
    assert f"rgba({views.FOR}, 0.21)" in weak
    assert f"rgba({views.AGAINST}, {views.STRONGEST:.2f})" in against
    assert "+2.00" in strong
    assert views.weighted("w", 0.0, largest=0.0).count(f"{views.FAINTEST:.2f}") == 1


def test_tags(tagger):
    found = tagger.predict(["red apple", "green belt"], top_k=2)
    shown = text_of(found._repr_html_())
    for tags in found:
        for tag in tags:
            assert f"{tag.label} {tag.score:.2f}" in shown
    many = tagger.predict(TEXTS, top_k=1)
    assert f"... and {40 - views.MAX_ROWS} other texts" in text_of(many._repr_html_())


def test_predictions():
    found = Predictions.from_lists([[3, 1], [2]], [[0.5, 0.25], [1.0]], 4)
    assert text_of(found._repr_html_()).endswith("0 3 (0.5), 1 (0.25) 1 2 (1)")


def test_an_explanation(tagger):
    explanation = tagger.explain("red apple", BAD)
    shown = text_of(explanation._repr_html_())
    assert shown.startswith(f"{BAD} score {explanation.score:.4f}")
    for step in explanation.steps:
        for word, value in step.words:
            assert f"{word} {value:+.2f}" in shown
        assert f"bias {step.bias:+.2f}" in shown
    assert tagger.explain("zzyzx", BAD).note in text_of(tagger.explain("zzyzx", BAD)._repr_html_())


def test_an_explanation_by_prototypes():
    pytest.importorskip("torch")
    from multitudes.encoder.explanation import Explanation, NearestInstances

    shares = {"text": 0.5, "centroid": -0.25, "free": 0.0}
    assert "not kept" in text_of(Explanation(BAD, 0.25, shares, None)._repr_html_())
    near = NearestInstances(np.array([3]), np.array([0.5], np.float32), (BAD,))
    shown = text_of(Explanation("fruit", 0.25, shares, near, "a remark")._repr_html_())
    assert "its training texts -0.25" in shown
    assert shown.endswith(f"+0.50 {BAD} a remark")


def test_senses_and_ambiguous_labels(tagger):
    senses = tagger.senses("belts")
    shown = text_of(senses._repr_html_())
    assert all(f"leaf {sense.leaf}: {sense.n_instances} texts" in shown for sense in senses)
    assert all(f"{word} {w:+.2f}" in shown for sense in senses for word, w in sense.words)
    ambiguous = views.Listing([Ambiguity(BAD, 0.5, 0.625, 1.0, 20), Ambiguity("b", 0, 0, 0.5, 9)])
    rows = text_of(ambiguous._repr_html_())
    assert rows.startswith("label separation silhouette variation n_instances")
    assert all(str(row.label) in rows for row in ambiguous)
    assert tagger.ambiguous_labels() == []  # every label has its words


def test_a_report():
    report = evaluate([[0], [1]], [[0], []], ks=(1,))
    shown = text_of(report._repr_html_())
    assert "P 50.00" in shown
    assert all(" ".join(remark.split()) in shown for remark in report.remarks())
    assert str(report) == report.table()


def test_a_fitted_tagger_says_what_it_is(tagger):
    for shown in (tagger._repr_html_(), tagger._repr_mimebundle_()["text/html"]):
        text = text_of(shown)
        assert "Disentangled (xr-linear, as asked for)" in text
        assert f"3 labels {BAD}, belts, fruit" in text
        assert "texts, with TfidfFeatures, 5 features" in text
        assert "overlap=2" in text
        assert text.count("probabilities") == 0
    assert tagger._repr_mimebundle_()["text/plain"] == repr(tagger)


def test_a_tagger_of_many_labels_over_features_and_calibrated():
    eye = sp.csr_array(np.eye(20, dtype=np.float32))
    data = Dataset(Y=eye, X=eye)
    tagger = Tagger("one-vs-all", n_jobs=1).fit(data).calibrate(data)
    text = text_of(tagger._repr_html_())
    assert "20 labels 0, 1, 2, 3, 4, 5, 6, 7, and 12 others" in text
    assert "features X, with PassThrough" in text
    assert "scores, probabilities, sets" in text


def test_scikit_learn_may_be_told_to_show_text_alone(tagger):
    with config_context(display="text"):
        assert tagger._repr_mimebundle_().keys() == {"text/plain"}


def test_before_fit_it_is_shown_as_any_estimator():
    assert "sk-container" in Tagger()._repr_html_()
