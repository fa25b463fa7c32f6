"""What a fused explanation says of members that list a label, and of those that do not."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest

from multitudes.fusion import FusedExplanation, Member, MemberSays
from multitudes.fusion.explanation import member_says
from multitudes.types import Predictions


@dataclass(frozen=True)
class Why:
    """An explanation that knows what was asked."""

    label: int | str
    of: object
    own: int
    names: object = None

    def named(self, label, details=None):
        return dataclasses.replace(
            self, label=self.label if label is None else label, names=details or self.names
        )

    def table(self, *, top=8):
        return f"{self.label}: head\n  the best {top}"

    def to_dict(self):
        return {"label": self.label}

    def _repr_html_(self):
        return f"<i>{self.label}</i>"


class Explaining:
    def fit(self, X, Y):
        return self

    def predict(self, X, *, top_k=5):
        raise NotImplementedError

    def explain(self, x, label):
        return Why(label, x, label)


class Features:
    """Reads a text as its length."""

    feature_names = ("length",)

    def transform(self, texts):
        return np.array([[len(text)] for text in texts])


LISTED = Predictions.from_lists([[4, 2]], [[0.5, 0.25]], 6)


def test_a_member_explains_what_it_reads_by_its_own_label():
    label_map = np.array([1, 2, 4])
    says = member_says(Member("a", Explaining(), None, label_map), ["a text"], 2, LISTED, 0.75)
    assert (says.member, says.rank, says.score, says.share) == ("a", 2, 0.25, 0.75)
    assert (says.why.of, says.why.own, says.why.label) == ("a text", 1, 2)
    row = np.ones((1, 3))
    assert member_says(Member("a", Explaining()), row, 4, LISTED, 0.0).why.of is row
    with_features = member_says(Member("a", Explaining(), Features()), ["a text"], 4, LISTED, 0.0)
    assert (with_features.rank, with_features.score) == (1, 0.5)
    assert with_features.why.of.tolist() == [[6]]
    assert with_features.why.names == ("length",)


def test_a_member_without_the_label_says_so():
    unlisted = member_says(Member("a", Explaining()), ["a"], 3, LISTED, 0.0)
    assert (unlisted.rank, unlisted.score, unlisted.why.own) == (None, None, 3)
    unknown = member_says(
        Member("a", Explaining(), None, np.array([4, 2, -1])), ["a"], 3, LISTED, 0.0
    )
    assert unknown.why is None
    assert unlisted.sentence() == "does not list it"
    assert member_says(Member("a", object()), ["a"], 4, LISTED, 0.0).why is None


@pytest.fixture
def fused():
    return FusedExplanation(
        3, 0.125, "rank",
        (MemberSays("a", 1, 0.5, 0.125, Why(3, "x", 3)), MemberSays("b", None, None, -0.25)),
    )  # fmt: skip


def test_it_is_shown_as_a_table(fused):
    assert str(fused) == fused.table() == (
        "label 3: score 0.1250 by rank fusion\n"
        "  a: rank 1, score 0.5000, adds +0.125\n"
        "    the best 8\n"
        "  b: does not list it, adds -0.250"
    )  # fmt: skip
    noted = dataclasses.replace(fused, note="a remark")
    assert noted.table(top=3) == fused.table(top=3) + "\n  a remark"
    assert "the best 3" in fused.table(top=3)
    html = noted._repr_html_()
    for shown in ("label 3", "score 0.1250", "rank fusion", "rank 1, score 0.5000", "+0.125",
                  "does not list it", "-0.250", "<i>3</i>", "a remark"):  # fmt: skip
        assert shown in html
    assert "a remark" not in fused._repr_html_()
    assert html.count("<i>") == 1


def test_it_is_named_and_made_plain(fused):
    assert fused.named(None).label == 3
    named = fused.named("fruit", {"row": "text"})
    assert (named.label, named.members[0].why.label) == ("fruit", "fruit")
    assert named.members[0].why.names == {"row": "text"}
    assert named.table().startswith("fruit: score")
    assert fused.named("fruit", ["names of features"]).members[0].why.names is None
    assert named.to_dict() == {
        "label": "fruit", "score": 0.125, "fusion": "rank", "note": "",
        "members": [
            {"member": "a", "rank": 1, "score": 0.5, "share": 0.125, "why": {"label": "fruit"}},
            {"member": "b", "rank": None, "score": None, "share": -0.25, "why": None},
        ],
    }  # fmt: skip
