"""AutoReport: what "auto" did with its budget, and what each member is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from multitudes.errors import StoreError
from multitudes.progress import duration
from multitudes.types import Predictions, Sparse

METRIC_AT = 5


class Score(NamedTuple):
    """P@1 and nDCG@5 on what was held out."""

    p1: float
    ndcg5: float

    @classmethod
    def of(cls, predictions: Predictions, Y: Sparse) -> Score:
        """Measure predictions."""
        from multitudes.metrics import ndcg_at_k, precision_at_k

        return cls(precision_at_k(predictions, Y, k=1), ndcg_at_k(predictions, Y, k=METRIC_AT))

    @property
    def mean(self) -> float:
        """What members are chosen by."""
        return (self.p1 + self.ndcg5) / 2

    def __str__(self) -> str:
        return f"P@1 {100 * self.p1:.1f}, nDCG@5 {100 * self.ndcg5:.1f}"


@dataclass(frozen=True)
class MemberWorth:
    """One member: what was thought, what it took, and what it is worth.

    Parameters
    ----------
    name, what : str
    seconds, estimate : float
        Of training, and of predicting what was held out.
    alone : Score or None
        None for a single model, that nothing was held out for.
    lost_without : Score or None
        What the fusion loses without it; None if it was not taken.
    outcome : str
        "taken", "taken, and trained again on everything", or why it was not.
    """

    name: str
    what: str
    seconds: float
    estimate: float
    alone: Score | None = None
    lost_without: Score | None = None
    outcome: str = "taken"


@dataclass(frozen=True)
class AutoReport:
    """What "auto" did with its budget.

    Parameters
    ----------
    budget, seconds : float
        Given, and taken.
    n_held_out : int
    members : tuple of MemberWorth
        All that were trained or begun, in order.
    fusion : str or None
        How members are fused; None for a single one.
    fused : Score or None
        Of the fusion, learned on one half of what was held out and measured on the other.
    ended : str
        "done", "at the deadline" or "stopped".
    """

    budget: float
    seconds: float
    n_held_out: int
    members: tuple[MemberWorth, ...]
    fusion: str | None = None
    fused: Score | None = None
    ended: str = "done"

    @property
    def taken(self) -> tuple[MemberWorth, ...]:
        """The members that the tagger consists of."""
        return tuple(one for one in self.members if one.outcome.startswith("taken"))

    def sentences(self) -> list[str]:
        """Return the report in words, for cards and remarks."""
        names = " and ".join(f"{one.name} ({one.what})" for one in self.taken)
        how = f", fused by {self.fusion}" if self.fusion else ""
        end = "" if self.ended == "done" else f", {self.ended}"
        first = f"auto: {names}{how}, in {duration(self.seconds)} of {duration(self.budget)}{end}"
        if not self.n_held_out:
            return [first]
        measured = f"on {self.n_held_out:,} instances held out"
        fused = [] if self.fused is None else [f"the fusion: {self.fused} {measured}"]
        return [first, *fused, *map(_sentence, self.members)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for the manifest."""
        return asdict(self) | {
            "members": [
                asdict(one)
                | {"alone": _numbers(one.alone), "lost_without": _numbers(one.lost_without)}
                for one in self.members
            ],
            "fused": _numbers(self.fused),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AutoReport:
        """Build it again; a StoreError says what is wrong with it."""
        try:
            members = tuple(
                replace(
                    MemberWorth(**one),
                    alone=_score(one["alone"]),
                    lost_without=_score(one["lost_without"]),
                )
                for one in values["members"]
            )
            found = cls(**{**values, "members": members, "fused": _score(values["fused"])})
            found.sentences()
        except (TypeError, KeyError, ValueError) as error:
            raise StoreError(f"the report of auto is not one: {error}") from None
        return found


def _sentence(one: MemberWorth) -> str:
    alone = "" if one.alone is None else f": {one.alone} alone"
    if one.lost_without is not None:
        lost = one.lost_without
        alone += f"; without it the fusion loses {100 * lost.p1:.1f} and {100 * lost.ndcg5:.1f}"
    return f"{one.name}, {one.outcome}{alone} ({duration(one.seconds)})"


def _numbers(score: Score | None) -> list[float] | None:
    return None if score is None else [float(value) for value in score]


def _score(values: Any) -> Score | None:
    return None if values is None else Score(*(float(value) for value in values))
