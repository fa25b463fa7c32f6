"""Why an ensemble gave a label its score: which member said what, and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from multitudes import views
from multitudes.fusion.members import Member
from multitudes.types import Explains, Predictions

NOT_LISTED = "does not list it"


@dataclass(frozen=True, eq=False)
class MemberSays:
    """What one member says about a label.

    Parameters
    ----------
    member : str
    rank : int or None
        Its rank among the member's candidates, from 1; None if it is not among them.
    score : float or None
        The member's own score, not comparable with that of others.
    share : float
        What the member adds to the fused score: to the sum of rank fusion, to the log-odds of
        calibrated fusion; of learned fusion, by how much log-odds fall without it.
    why : explanation of the member's model, or None
        None if the model cannot explain itself, or does not know the label.
    """

    member: str
    rank: int | None
    score: float | None
    share: float
    why: Any = None

    def sentence(self) -> str:
        """Return rank and score in words."""
        if self.rank is None or self.score is None:
            return NOT_LISTED
        return f"rank {self.rank}, score {self.score:.4f}"


@dataclass(frozen=True, eq=False)
class FusedExplanation:
    """What each member of an ensemble says about a label, and what their fusion makes of it.

    Parameters
    ----------
    label : int or str
        Its id, or its name.
    score : float
        The fused score; 0 if no member lists the label.
    fusion : str
        "rank", "calibrated" or "learned".
    members : tuple of MemberSays
    note : str
        A remark for who reads it; mostly empty.
    """

    label: int | str
    score: float
    fusion: str
    members: tuple[MemberSays, ...]
    note: str = ""

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = [[one.member, one.sentence(), f"{one.share:+.3f}"] for one in self.members]
        head = views.paragraph(views.bold(self._name()), f"score {self.score:.4f}")
        lines = [head, views.table(["member", self.fusion + " fusion", "adds"], rows, left=2)]
        for one in self.members:
            if one.why is not None:
                lines += [views.paragraph(views.muted(f"{one.member}:")), one.why._repr_html_()]
        if self.note:
            lines.append(views.paragraph(views.muted(self.note)))
        return "".join(lines)

    def named(self, label: str | None, details: Any = None) -> FusedExplanation:
        """Return it with names, of the label and of what members did not name themselves.

        Parameters
        ----------
        label : str or None
            None keeps the id.
        details : mapping or sequence, optional
            What `named` of a member's explanation takes: training texts by row, or the names of
            features that all members share.
        """
        members = tuple(
            one
            if one.why is None
            else dataclasses.replace(one, why=_named(one.why, label, details))
            for one in self.members
        )
        name = self.label if label is None else label
        return dataclasses.replace(self, label=name, members=members)

    def table(self, *, top: int = 8) -> str:
        """Return a line for each member, with its own explanation below."""
        lines = [f"{self._name()}: score {self.score:.4f} by {self.fusion} fusion"]
        for one in self.members:
            lines.append(f"  {one.member}: {one.sentence()}, adds {one.share:+.3f}")
            if one.why is not None:
                _, *own = one.why.table(top=top).splitlines()
                lines += [f"  {line}" for line in own]
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON, with the explanation of each member."""
        members = [
            {
                "member": one.member,
                "rank": one.rank,
                "score": one.score,
                "share": one.share,
                "why": None if one.why is None else one.why.to_dict(),
            }
            for one in self.members
        ]
        return {
            "label": self.label,
            "score": self.score,
            "fusion": self.fusion,
            "members": members,
            "note": self.note,
        }

    def _name(self) -> str:
        return self.label if isinstance(self.label, str) else f"label {self.label}"


def _named(why: Any, label: str | None, details: Any) -> Any:
    """Name the label, and the details where they are of the kind that the explanation takes."""
    has_steps = hasattr(why, "steps")
    takes = (
        not isinstance(details, dict) and not any(step.names for step in why.steps)
        if has_steps
        else isinstance(details, dict)
    )
    return why.named(label, details if takes else None)


def member_says(
    member: Member, inputs: Any, label: int, listed: Predictions, share: float
) -> MemberSays:
    """Return what a member says about a label of one instance, and why.

    Parameters
    ----------
    member : Member
    inputs : list of one text, or one row of X
    label : int
    listed : Predictions
        Its candidates for the instance.
    share : float
        What it adds to the fused score.
    """
    at, own, why = np.flatnonzero(listed.labels[0] == label), member.own_label(label), None
    if own is not None and isinstance(member.model, Explains):
        read = member.read(inputs)
        one = read[0] if member.features is None and isinstance(read, list) else read
        why = member.model.explain(one, own)
        names = getattr(member.features, "feature_names", None)
        if names:
            why = why.named(None, names)
        why = dataclasses.replace(why, label=label)
    if not len(at):
        return MemberSays(member.name, None, None, share, why)
    return MemberSays(member.name, int(at[0]) + 1, float(listed.scores[0, at[0]]), share, why)
