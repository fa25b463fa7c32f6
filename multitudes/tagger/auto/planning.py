"""Plan: which members fit into the time, and what each of them takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from multitudes.tagger.costs.candidates import Candidate
from multitudes.tagger.costs.estimates import Costs
from multitudes.tagger.costs.facts import Facts

FEWEST = 500  # instances from which some can be held out
SHARE, MOST = 0.1, 5_000  # of the instances that are held out, and how many at most
AT_LEAST, LARGEST_SHARE = 1_000, 0.3  # held out, where that is not more than this share
SMALL_SHARE = 0.05  # held out, and members need not be trained again on everything
SPARE = 0.15  # of the budget, for what takes longer than was thought
LEARNED = 10.0  # seconds on the machine of `costs` to learn a fusion by trees, and to measure it
FUSION_SHARE = 0.15  # of the budget at most: where it is small, weights of members have to do


@dataclass(frozen=True)
class Planned:
    """A member of a plan, with its estimates in seconds.

    Parameters
    ----------
    candidate : Candidate
    fit : float
        Training without what is held out.
    check : float
        Predicting what is held out.
    again : float
        Training once more, on everything; 0 if that is not planned.
    """

    candidate: Candidate
    fit: float
    check: float = 0.0
    again: float = 0.0

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.fit + self.check + self.again


@dataclass(frozen=True)
class Plan:
    """What will be trained, in order, and what there is no time for.

    Parameters
    ----------
    seconds : float
        The time there is.
    n_held_out : int
        Instances to measure members and learn their fusion on; 0 for a single model.
    members : tuple of Planned
    too_long : tuple of Planned
        Further members; of a single model, better ones.
    fusing : float
        Seconds that are kept for the fusion of members.
    """

    seconds: float
    n_held_out: int
    members: tuple[Planned, ...]
    too_long: tuple[Planned, ...] = ()
    fusing: float = 0.0

    @property
    def total(self) -> float:
        """Seconds that all of it takes."""
        fusing = self.fusing if len(self.members) > 1 else 0.0
        return sum(member.seconds for member in self.members) + fusing


def fusion_seconds(costs: Costs, seconds: float) -> float:
    """Return the seconds of a budget that are kept for the fusion."""
    return min(LEARNED * costs.pace, FUSION_SHARE * seconds)


def n_to_hold_out(n_instances: int) -> int:
    """Return how many instances to hold out; 0 if there are too few."""
    if n_instances < FEWEST:
        return 0
    enough = min(AT_LEAST, int(LARGEST_SHARE * n_instances))
    return min(MOST, max(int(SHARE * n_instances), enough))


def planned(
    first: Sequence[Candidate],
    others: Sequence[Candidate],
    facts: Facts,
    costs: Costs,
    *,
    seconds: float,
    n_held_out: int | None = None,
) -> Plan:
    """Return the plan for some data and some time.

    The best first member that leaves time for others to join it, or that fits on its own; the
    cheapest if none does. Some instances are held out to measure and fuse members: many, if there
    is time to train members again on everything, else few. The others come in their order, as far
    as there is time.

    Parameters
    ----------
    first, others : sequence of Candidate
        See `candidates`.
    facts : Facts
    costs : Costs
    seconds : float
    n_held_out : int, optional
        Instances that are held out already, beside those of `facts`.
    """
    usable = (1 - SPARE) * seconds
    better = list[Planned]()
    for one in first:
        for n, refits in _held_out_options(facts.n_instances, n_held_out):
            plan = _joined_plan(one, others, facts, costs, seconds, n, refits)
            if plan is not None:
                return plan
        alone = Planned(one, costs.fit(one, facts))
        if alone.fit <= usable:
            return Plan(seconds, 0, (alone,), tuple(better))
        better.append(alone)
    cheapest = min(better, key=lambda one: one.fit)
    return Plan(seconds, 0, (cheapest,), tuple(better[: better.index(cheapest)]))


def _held_out_options(n_instances: int, given: int | None) -> list[tuple[int, bool]]:
    """Return how many instances to hold out, and whether members are then trained again."""
    if given is not None:
        return [(given, False)] if given else []
    n, few = n_to_hold_out(n_instances), int(SMALL_SHARE * n_instances)
    if not n:
        return []
    if n <= few:
        return [(n, False)]
    return [(n, True)] + ([(few, False)] if few >= FEWEST else [])


def _joined_plan(
    one: Candidate,
    others: Sequence[Candidate],
    facts: Facts,
    costs: Costs,
    seconds: float,
    n_held_out: int,
    refits: bool,
) -> Plan | None:
    """Return a plan that begins with a member, if there is time for another one.

    Else nothing is held out: on lf-msdocs-links, others that might have joined did not make up for
    the instances that the first member then could not learn from.
    """
    fusing = fusion_seconds(costs, seconds)
    usable = (1 - SPARE) * seconds - fusing
    chosen = _estimated(one, facts, costs, n_held_out, refits)
    rest = [other for other in others if _is_new(other, one)]
    joined, too_long = scheduled(
        rest, facts, costs, seconds=usable - chosen.seconds, n_held_out=n_held_out, refits=refits
    )
    if not joined:
        return None
    return Plan(seconds, n_held_out, (chosen, *joined), too_long, fusing)


def scheduled(
    others: Sequence[Candidate],
    facts: Facts,
    costs: Costs,
    *,
    seconds: float,
    n_held_out: int,
    refits: bool,
) -> tuple[tuple[Planned, ...], tuple[Planned, ...]]:
    """Return those that fit into some seconds, in their order, and those that do not.

    One that can be trained, but not again on everything, will do: others make up for that.
    """
    fits, too_long = list[Planned](), list[Planned]()
    for one in others:
        member = _estimated(one, facts, costs, n_held_out, refits)
        if member.seconds > seconds:
            member = replace(member, again=0.0)
        if member.seconds <= seconds:
            fits.append(member)
            seconds -= member.seconds
        else:
            too_long.append(member)
    return tuple(fits), tuple(too_long)


def _estimated(
    one: Candidate, facts: Facts, costs: Costs, n_held_out: int, refits: bool
) -> Planned:
    fit = costs.fit(one, facts)
    again = fit if refits and one.model != "prime" else 0.0  # an encoder is too long to do twice
    return Planned(one, fit, costs.predict(one, facts, n_held_out), again)


def _is_new(one: Candidate, chosen: Candidate) -> bool:
    return (one.model, one.features) != (chosen.model, chosen.features)
