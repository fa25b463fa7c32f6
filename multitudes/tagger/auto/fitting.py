"""What "auto" does with a budget, from a dataset to a fitted model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from multitudes.data import Dataset, LabelSpace, split
from multitudes.data.predictions.alignment import over_names
from multitudes.errors import ConfigError
from multitudes.fusion.members import Member
from multitudes.progress import say, track
from multitudes.tagger.announcing import described
from multitudes.tagger.assembly import TaggerSpec, check_spec
from multitudes.tagger.auto.deadline import Deadline, check_for_budget, seconds_of
from multitudes.tagger.auto.planning import SMALL_SHARE, Plan, planned
from multitudes.tagger.auto.probe import load_compiled, pace_here
from multitudes.tagger.auto.report import AutoReport
from multitudes.tagger.auto.running import LISTED, Run
from multitudes.tagger.auto.showing import show_plan
from multitudes.tagger.auto.training import Given, Trainer
from multitudes.tagger.costs.candidates import OTHERS, Candidate, candidates
from multitudes.tagger.costs.estimates import CPU_RATE, Costs
from multitudes.tagger.costs.facts import Facts
from multitudes.tagger.inputs import texts_of_labels
from multitudes.tagger.training import TrainingData
from multitudes.types import Predictions

SECONDS_WORTH_TORCH = 30.0  # budgets below are over before torch is imported
SECONDS_WORTH_FUSING = 5.0  # budgets below are mostly those of one member
HOPE = 10.0  # times as fast as most: a CPU on which an encoder is out of the question


class Chosen(NamedTuple):
    """What came of a budget.

    Parameters
    ----------
    model, features : fitted estimators
        Features are None for an ensemble, whose members have their own.
    choice : str
        What it is, and why.
    report : AutoReport
    """

    model: Any
    features: Any
    choice: str
    report: AutoReport


def fit_in_time(
    given: Given,
    dataset: Dataset,
    seconds: float,
    *,
    validation: Dataset | None = None,
    clock: Callable[[], float] = time.monotonic,
    costs: Costs | None = None,
) -> Chosen:
    """Train what fits into some seconds, and fuse what helps.

    Parameters
    ----------
    given : Given
        What all members are given.
    dataset : Dataset
        Instances with labels of their own.
    seconds : float
    validation : Dataset, optional
        To measure members and learn their fusion on, instead of a part of `dataset`.
    clock : function
        See `Deadline`.
    costs : Costs, optional
        Of this machine; by default they are probed.
    """
    if costs is None:
        with track("loading compiled code"):  # or compiling it, once: not a part of the budget
            load_compiled(given.n_jobs, fusing=seconds >= SECONDS_WORTH_FUSING)
    deadline = Deadline(seconds, clock)
    facts = Facts.of(
        dataset,
        n_jobs=given.n_jobs,
        device=given.device if seconds >= SECONDS_WORTH_TORCH else "cpu",
    )
    if costs is None:
        with track("measuring this machine"):
            costs = _probed(facts, given, seconds)
    first, others = candidates(facts)
    others = [one for one in others if _is_asked_for(one, given, seconds)]
    aside = None if validation is None else _over_labels(validation, dataset)
    plan = planned(
        first,
        others,
        facts,
        costs,
        seconds=deadline.left,
        n_held_out=None if aside is None else len(aside),
    )
    show_plan(plan, facts)
    run = _Trainers(given).run(facts, costs, deadline, dataset)
    if not plan.n_held_out:
        model, report = run.single(plan, dataset)
    else:
        part, held_out = (dataset, aside) if aside is not None else _parts(dataset, plan, given)
        model, report = run.several(plan, part, held_out, dataset)
    for sentence in report.sentences():
        say(sentence)
    if isinstance(model, Member):
        return Chosen(model.model, model.features, report.sentences()[0], report)
    return Chosen(model, None, report.sentences()[0], report)


def fit_in_budget(spec: TaggerSpec, data: TrainingData, budget: Any) -> Chosen:
    """Train a tagger's parts in the time it was given."""
    check_for_budget(spec.model)
    seconds = seconds_of(budget)
    check_spec(spec._replace(device=None))  # that is for encoders, if there is one
    if data.grouped is not None:
        raise ConfigError(
            "a budget is for instances with labels of their own, and these are learned from the "
            "labels of groups: leave out the budget"
        )
    if data.checkpoint is not None:
        raise ConfigError(
            "a training with a budget ends in time and keeps no checkpoint: leave out one of the "
            "two"
        )
    say(f"learning from {described(data)}")
    given = Given(spec.features, spec.settings, spec.random_state, spec.n_jobs, spec.device)
    return fit_in_time(given, data.dataset, seconds, validation=data.validation)


class _Trainers:
    """A trainer for each dataset; only that of the latest is kept, with what it has made."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self.trainer: Trainer | None = None

    def run(self, facts: Facts, costs: Costs, deadline: Deadline, dataset: Dataset) -> Run:
        """Return a run that trains with these."""
        return Run(
            self.train,
            self.predict,
            facts,
            costs,
            deadline,
            label_texts=texts_of_labels(dataset, needed=False) if facts.takes_texts else None,
            random_state=self.given.random_state,
        )

    def train(self, candidate: Candidate, dataset: Dataset) -> Member:
        """Return a member fitted on a dataset."""
        if self.trainer is None or self.trainer.dataset is not dataset:
            self.trainer = Trainer(self.given, dataset)
        with track(f"training {candidate.name}"):
            return self.trainer.train(candidate)

    def predict(self, member: Member, dataset: Dataset) -> Predictions:
        """Return the best labels of instances."""
        read = member.read(dataset.X if dataset.texts is None else dataset.texts)
        top_k = min(LISTED, dataset.n_labels)
        return member.candidates(read, top_k=top_k, n_labels=dataset.n_labels)


def _probed(facts: Facts, given: Given, seconds: float) -> Costs:
    pace = pace_here(given.n_jobs)
    costs = Costs(pace, rate=CPU_RATE * facts.n_threads)
    encoder = next((one for one in OTHERS if one.model == "prime" and one.fits(facts)), None)
    hopeful = Costs(pace, rate=HOPE * costs.rate)
    if encoder is None or (facts.device == "cpu" and hopeful.fit(encoder, facts) > seconds):
        return costs  # torch, which is slow to import, would tell what is known already
    from multitudes.deep.devices import operations_per_second

    return Costs(pace, operations_per_second(facts.device))


def _is_asked_for(one: Candidate, given: Given, seconds: float) -> bool:
    if given.features is not None and one.features not in (None, "tfidf"):
        return False  # features were chosen by somebody
    return one.model != "prime" or seconds >= SECONDS_WORTH_TORCH


def _parts(dataset: Dataset, plan: Plan, given: Given) -> tuple[Dataset, Dataset]:
    """Hold instances out: any, if members are trained again; else those that labels can spare."""
    size, state = plan.n_held_out, given.random_state
    if size > SMALL_SHARE * len(dataset):
        return split(dataset, test_size=size, random_state=state)
    return split(dataset, test_size=size, by="label-aware", fill=True, random_state=state)


def _over_labels(validation: Dataset, dataset: Dataset) -> Dataset:
    if (validation.texts is None) != (dataset.texts is None):
        raise ConfigError(
            f"the validation data must be of the kind that is learned from, texts or features "
            f"({dataset!r}), got {validation!r}"
        )
    return over_names(validation, LabelSpace.of(dataset).names)
