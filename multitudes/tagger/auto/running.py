"""Carry out a plan: train members one by one, keep what helps, end in time with what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from multitudes.data import Dataset
from multitudes.fusion import Ensemble
from multitudes.fusion.choosing import FusionReport, HeldOut, made_fusion
from multitudes.fusion.fusion import Fusion
from multitudes.fusion.lists import Lists
from multitudes.fusion.members import Member
from multitudes.progress import duration, say
from multitudes.tagger.auto.deadline import Deadline, TimeIsUp
from multitudes.tagger.auto.planning import (
    LEARNED,
    SMALL_SHARE,
    SPARE,
    Plan,
    Planned,
    fusion_seconds,
    scheduled,
)
from multitudes.tagger.auto.report import METRIC_AT, AutoReport, MemberWorth, Score
from multitudes.tagger.auto.worth import LEAST_GAIN, cross_fused, gain, some_of
from multitudes.tagger.costs.candidates import Candidate
from multitudes.tagger.costs.estimates import Costs
from multitudes.tagger.costs.facts import Facts
from multitudes.types import Predictions

LISTED = 50  # labels of a member that are fused
TAKEN, AGAIN = "taken", "taken, and trained again on everything"
PATIENCE = 3.0  # times its estimate, after which a member is given up for others
COMPILING = 15.0  # seconds on top: at its very first use on a machine a kernel is compiled
LEFT_OUT = "left out, because it did not help"
BETTER = "left out, because there was time for a better one"
FUSIONS = {"rank": 0.0, "calibrated": 2.0, "learned": LEARNED}
"""Ways of fusion, and the seconds on the machine of `costs` from which each is tried."""


@dataclass
class Kept:
    """A member that was trained: fitted on the part, and what it says about what was held out."""

    planned: Planned
    member: Member
    predictions: Predictions
    worth: MemberWorth


@dataclass
class Run:
    """A plan being carried out.

    Parameters
    ----------
    train : function of Candidate and Dataset
        Returns a fitted `Member`.
    predict : function of Member and Dataset
        Returns its best labels of instances.
    facts : Facts
    costs : Costs
    deadline : Deadline
    label_texts : sequence of str or None
        For learned fusion.
    """

    train: Callable[[Candidate, Dataset], Member]
    predict: Callable[[Member, Dataset], Predictions]
    facts: Facts
    costs: Costs
    deadline: Deadline
    label_texts: Any = None
    random_state: int = 0
    kept: list[Kept] = field(default_factory=list)
    left_out: list[Kept] = field(default_factory=list)
    seen: list[MemberWorth] = field(default_factory=list)
    ended: str = "done"
    fused: Predictions | None = None
    fusing: float = 0.0

    def single(self, plan: Plan, dataset: Dataset) -> tuple[Any, AutoReport]:
        """Train the only member of a plan on everything; a better one if it was faster than that.

        Better ones that seemed to take too long are in the plan, best first.
        """
        (planned,) = plan.members
        started = self.deadline.elapsed
        member = self.train(planned.candidate, dataset)
        worth = self._note(planned, started)
        self.costs = self.costs.learned(planned.candidate, worth.seconds, planned.fit)
        for better in plan.too_long:
            seconds = self.costs.fit(better.candidate, self.facts)
            if seconds > (1 - SPARE) * self.deadline.left:
                continue
            say(f"there is time for {better.candidate.what} ({duration(seconds)})")
            try:
                with self.deadline.enforced(), self._begun(replace(better, fit=seconds)):
                    started = self.deadline.elapsed
                    member = self.train(better.candidate, dataset)
                    self.seen[-1] = replace(self.seen[-1], outcome=BETTER)
                    self._note(replace(better, fit=seconds), started)
            except TimeIsUp:
                self.ended = "at the deadline"
            except KeyboardInterrupt:
                self.ended = "stopped"
            break
        return member, self._report(0)

    def several(
        self, plan: Plan, part: Dataset, held_out: Dataset, whole: Dataset
    ) -> tuple[Any, AutoReport]:
        """Train the members of a plan and fuse those that help.

        Returns
        -------
        model : Member or Ensemble
        report : AutoReport
        """
        queue = [one.candidate for one in (*plan.members, *plan.too_long)]
        refits = plan.n_held_out > SMALL_SHARE * len(whole) and whole is not part
        try:
            self._first(plan.members[0], part, held_out)
            self._others(queue[1:], part, held_out, refits=refits)
        except KeyboardInterrupt:
            self._stop("stopped")
        except TimeIsUp:
            self._stop("at the deadline")
        return self._finished(part, held_out, whole)

    # ------------------------------------------------------------------ members

    def _first(self, planned: Planned, part: Dataset, held_out: Dataset) -> None:
        """Train what comes first; nothing may end that but a person, and then there is nothing."""
        self._tried(planned, part, held_out)

    def _others(
        self, queue: list[Candidate], part: Dataset, held_out: Dataset, *, refits: bool
    ) -> None:
        while queue:
            again = sum(map(self._to_refit, self.kept))
            left = self.deadline.left - self._reserve - SPARE * self.deadline.seconds
            fits, too_long = scheduled(
                queue,
                self.facts,
                self.costs,
                seconds=left - (again if refits else 0.0),
                n_held_out=len(held_out),
                refits=refits,
            )
            if not fits:
                names = [f"{one.candidate.name} ({duration(one.seconds)})" for one in too_long]
                say(f"no time for {', '.join(names)}")
                return
            queue = [one for one in queue if one is not fits[0].candidate]
            at_most = PATIENCE * (fits[0].fit + fits[0].check) + COMPILING
            try:
                with (
                    self.deadline.enforced(reserve=self._reserve, at_most=at_most),
                    self._begun(fits[0]),
                ):
                    self._tried(fits[0], part, held_out)
            except TimeIsUp:
                if self.deadline.left <= self._reserve + 1:
                    raise
                say(f"{fits[0].candidate.name} took far longer than planned, and was given up")

    @contextmanager
    def _begun(self, planned: Planned) -> Iterator[None]:
        """Note a member that is not finished in time."""
        started, n = self.deadline.elapsed, len(self.seen)
        try:
            yield
        except (TimeIsUp, KeyboardInterrupt):
            if len(self.seen) == n:
                self._note(planned, started)
            self.seen[-1] = replace(self.seen[-1], outcome="begun, and not finished in time")
            raise

    def _tried(self, planned: Planned, part: Dataset, held_out: Dataset) -> None:
        """Train a member, and keep it if it helps."""
        started = self.deadline.elapsed
        member = self.train(planned.candidate, part)
        predictions = self.predict(member, held_out)
        worth = self._note(planned, started)
        estimate = planned.fit + planned.check
        self.costs = self.costs.learned(planned.candidate, worth.seconds, estimate)
        worth = replace(worth, alone=Score.of(predictions, held_out.Y))
        self.seen[-1] = worth
        one = Kept(planned, member, predictions, worth)
        fused, helps = self._with(one, held_out, part)
        together = f"; together {Score.of(fused, held_out.Y)}" if self.kept else ""
        if helps:
            self._take(one, fused)
        else:
            self.left_out.append(one)
            self._set_worth(one, replace(one.worth, outcome=LEFT_OUT))
        say(f"{one.worth.name}: {worth.alone} alone{together}; {one.worth.outcome}")

    def _take(self, one: Kept, fused: Predictions) -> None:
        self.kept.append(one)
        self.fused = fused
        self._set_worth(one, replace(one.worth, outcome=TAKEN))

    def _with(self, one: Kept, held_out: Dataset, part: Dataset) -> tuple[Predictions, bool]:
        """Return what comes of a fusion with another member, and whether that is better."""
        if not self.kept or self.fused is None:
            return one.predictions.top(METRIC_AT), True
        fused = self._fused([*self.kept, one], held_out, part)
        return fused, gain(fused, self.fused, held_out.Y) > LEAST_GAIN

    def _fused(self, members: list[Kept], held_out: Dataset, part: Dataset) -> Predictions:
        if len(members) == 1:
            return members[0].predictions.top(METRIC_AT)
        started = self.deadline.elapsed
        lists = self._held_out(members, held_out, part)
        fused = cross_fused(lists, "rank", random_state=self.random_state)
        self.fusing = self.deadline.elapsed - started
        return fused

    @property
    def _reserve(self) -> float:
        """Seconds that the end takes: the fusion, and once more without each member."""
        kept = fusion_seconds(self.costs, self.deadline.seconds)
        return max(kept, (len(self.kept) + 2) * self.fusing)

    def _note(self, planned: Planned, started: float) -> MemberWorth:
        one = planned.candidate
        seconds = self.deadline.elapsed - started
        self.seen.append(MemberWorth(one.name, one.what, seconds, planned.fit + planned.check))
        return self.seen[-1]

    def _reconsider(self, held_out: Dataset, part: Dataset) -> None:
        """Take what helps now that others are there, and leave out what helps no longer."""
        for one in list(self.left_out):
            fused, helps = self._with(one, held_out, part)
            if helps:
                self.left_out.remove(one)
                self._take(one, fused)
        for one in list(self.kept):
            others = [other for other in self.kept if other is not one]
            if not others or self.fused is None:
                break
            fused = self._fused(others, held_out, part)
            if gain(fused, self.fused, held_out.Y) >= 0:
                self.kept, self.fused = others, fused
                self.left_out.append(one)
                self._set_worth(one, replace(one.worth, outcome=LEFT_OUT))

    def _stop(self, how: str) -> None:
        self.ended = how
        if not self.kept:
            raise KeyboardInterrupt
        names = ", ".join(one.worth.name for one in self.kept)
        say(f"{how}: the tagger is made of what is ready: {names}", urgent=True)

    # ------------------------------------------------------------------ the end

    def _finished(self, part: Dataset, held_out: Dataset, whole: Dataset) -> tuple[Any, AutoReport]:
        n_held_out = len(held_out)
        if self.ended == "done":
            self._reconsider(held_out, part)
        if len(self.kept) > 1:
            lists = self._held_out(self.kept, held_out, part)
            kind, fusion, fused = self._fusion(lists, held_out)
            self._unless_one_is_as_good(Score.of(fused, held_out.Y))
        if len(self.kept) == 1:
            member = self._again(self.kept[0], whole) if whole is not part else self.kept[0].member
            return member, self._report(n_held_out)
        self._weigh(lists, kind, fused, held_out)
        members = [one.member for one in self.kept]
        if whole is not part and self.ended == "done":
            members = [self._again(one, whole) for one in self._by_worth()]
            members = [next(m for m in members if m.name == one.member.name) for one in self.kept]
        report = replace(self._report(n_held_out), fusion=kind, fused=Score.of(fused, held_out.Y))
        return joined(members, fusion, report, part, whole), report

    def _unless_one_is_as_good(self, fused: Score) -> None:
        """Keep the best member alone if the fusion is not better."""
        best = max(self.kept, key=lambda one: (one.worth.alone or Score(0, 0)).mean)
        if best.worth.alone is not None and best.worth.alone.mean >= fused.mean:
            for one in self.kept:
                if one is not best:
                    self._set_worth(one, replace(one.worth, outcome=LEFT_OUT))
            self.kept = [best]

    def _fusion(self, lists: HeldOut, held_out: Dataset) -> tuple[str, Fusion, Predictions]:
        """Return the best way of fusion that there is time for."""
        if self.ended != "done" and self.fused is not None:
            return "rank", lists.learned(made_fusion("rank")), self.fused
        found: list[tuple[float, str, Predictions]] = []
        refitting = sum(self._to_refit(one) for one in self.kept if one.planned.again)
        ending = refitting + (len(self.kept) + 1) * self.fusing  # what comes after this
        for kind, needed in FUSIONS.items():
            left = self.deadline.left - ending
            if found and (self.ended != "done" or left < needed * self.costs.pace):
                break
            try:
                with self.deadline.enforced(reserve=ending if found else 0.0):
                    fused = cross_fused(lists, kind, random_state=self.random_state)
                found.append((Score.of(fused, held_out.Y).mean, kind, fused))
            except TimeIsUp:  # of this; there may be time to train members again
                break
            except KeyboardInterrupt:
                self.ended = "stopped"
        if not found:
            fused = self.fused if self.fused is not None else lists.lists.members[0]
            found.append((0.0, "rank", fused))
        _, kind, fused = max(found, key=lambda one: one[0])
        return kind, lists.learned(made_fusion(kind, random_state=self.random_state)), fused

    def _weigh(self, lists: HeldOut, kind: str, fused: Predictions, held_out: Dataset) -> None:
        """Note what the fusion loses without each member."""
        whole, Y = Score.of(fused, held_out.Y), held_out.Y
        quick = kind if self.deadline.left > 0 and kind != "learned" else "rank"
        if quick != kind:
            whole = Score.of(cross_fused(lists, quick, random_state=self.random_state), Y)
        for number, one in enumerate(self.kept):
            others = [i for i in range(len(self.kept)) if i != number]
            rest = (
                self.kept[others[0]].predictions
                if len(others) == 1
                else cross_fused(some_of(lists, others), quick, random_state=self.random_state)
            )
            without = Score.of(rest, Y)
            lost = Score(whole.p1 - without.p1, whole.ndcg5 - without.ndcg5)
            self._set_worth(one, replace(one.worth, lost_without=lost))

    def _by_worth(self) -> list[Kept]:
        """Return members, those that the fusion would miss most first."""
        return sorted(self.kept, key=lambda one: -(one.worth.lost_without or Score(1, 1)).mean)

    def _again(self, one: Kept, whole: Dataset) -> Member:
        """Train a member once more, on everything, if there is time; else it stays as it is."""
        if self.ended != "done" or self._to_refit(one) > self.deadline.left:
            return one.member
        try:
            with self.deadline.enforced():
                member = self.train(one.planned.candidate, whole)
        except TimeIsUp:
            self.ended = "at the deadline"
            return one.member
        except KeyboardInterrupt:
            self.ended = "stopped"
            return one.member
        self._set_worth(one, replace(one.worth, outcome=AGAIN))
        return member

    def _to_refit(self, one: Kept) -> float:
        """Return the seconds that a member takes on everything, by those that it took."""
        n, n_held_out = self.facts.n_instances, len(one.predictions)
        return one.worth.seconds * n / max(n - n_held_out, 1)

    def _set_worth(self, one: Kept, worth: MemberWorth) -> None:
        self.seen = [worth if seen is one.worth else seen for seen in self.seen]
        one.worth = worth

    def _held_out(self, members: list[Kept], held_out: Dataset, part: Dataset) -> HeldOut:
        counts = np.bincount(part.Y.indices, minlength=part.n_labels).astype(np.float32)
        lists = Lists([one.predictions for one in members])
        return HeldOut(lists, held_out.Y, counts, held_out.texts, self.label_texts)

    def _report(self, n_held_out: int) -> AutoReport:
        return AutoReport(
            self.deadline.seconds,
            self.deadline.elapsed,
            n_held_out,
            tuple(self.seen),
            ended=self.ended,
        )


def joined(
    members: list[Member], fusion: Fusion, report: AutoReport, part: Dataset, whole: Dataset
) -> Ensemble:
    """Return members and their fusion as an ensemble."""
    given = [
        (one.name, one.model if one.features is None else (one.features, one.model))
        for one in members
    ]
    ensemble = Ensemble(given, fusion=report.fusion or "rank", candidates=LISTED)
    counts = np.bincount(whole.Y.indices, minlength=whole.n_labels).astype(np.float32)
    ensemble.members_ = members
    ensemble.fusion_ = fusion.resized(np.arange(whole.n_labels), counts)
    ensemble.report_ = FusionReport(report.fusion or "rank", report.n_held_out)
    ensemble.label_counts_, ensemble.n_labels_ = counts, whole.n_labels
    ensemble.takes_texts_ = whole.X is None
    if whole.X is not None:
        ensemble.n_features_in_ = int(whole.X.shape[1])
    return ensemble
