"""The search itself: trials one after the other, bad ones ended early, until the time is up."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from multitudes import progress
from multitudes.errors import (
    DataError,
    MissingExtraError,
    MultitudesError,
    TrainingError,
)
from multitudes.stopping import shielded
from multitudes.tagger.auto.deadline import Deadline, TimeIsUp
from multitudes.tuning.learning import Learner, Measured, packed
from multitudes.tuning.parts import part_sizes
from multitudes.tuning.space import Settings, Space
from multitudes.tuning.study import (
    ERROR,
    SECONDS,
    SETTINGS,
    SIZES,
    STARTUP_TRIALS,
    TEST,
    UNFINISHED,
)

if TYPE_CHECKING:
    from optuna import Study, Trial

FULL_TRIALS = 8  # that the budget should have room for; else the largest part is smaller
FAILURES = 5  # at the beginning, with nothing else: something is wrong with all of them
SLOWER, SHARE_OF_BUDGET = 10, 0.1  # times the default, or of all the time, for one training
REPEATS = 100  # draws of known settings in a row: there is nothing new to find
TIME_UP = "the time was up"
KILLED = "the process ended while it ran: it was killed, or had no memory left"


@dataclass(frozen=True)
class Limits:
    """When a search ends.

    Parameters
    ----------
    deadline : Deadline
    reserve : float
        Seconds of it that are for the comparison at the end.
    n_trials : int, optional
        Trials at most, those of earlier runs included.
    reduction, most_parts : int
        Of the successive halving.
    """

    deadline: Deadline
    reserve: float
    n_trials: int | None
    reduction: int
    most_parts: int

    @property
    def left(self) -> float:
        """Seconds that are left for trials."""
        return self.deadline.left - self.reserve


@dataclass
class Searcher:
    """Runs trials.

    Parameters
    ----------
    study : optuna.Study
    space : Space
    learner : Learner
    limits : Limits
    n_train : int
        Instances of the training data.
    random_state : int
        Of the trials near the default.
    """

    study: Study
    space: Space
    learner: Learner
    limits: Limits
    n_train: int
    random_state: int
    _values: dict[str, list[float]] = field(default_factory=dict)  # of settings, part by part
    _seconds: list[list[float]] = field(default_factory=list)  # of trials, part by part
    _best: float | None = None
    _first_error: MultitudesError | None = None
    _n_failed: int = 0

    def run(self, task: progress.Task) -> str:
        """Run trials until there is a reason to end, and return that reason."""
        self._remember()
        repeats = 0
        while True:
            reason = self._enough(repeats)
            if reason is not None:
                return reason
            before = time.monotonic()
            trial = self._next()
            settings = self.space.draw(trial)
            known = _key(settings) in self._values
            repeats = repeats + 1 if known else 0
            try:
                finished = self._trial(trial, settings, task)
            finally:
                task.advance(time.monotonic() - before)
            if not finished:
                return "time"

    def _next(self) -> Trial:
        """Return a new trial: the default, then some near to it, then what the sampler proposes."""
        number = len(self.study.get_trials(deepcopy=False))
        if number == 0:
            self.study.enqueue_trial(self.space.defaults())
        elif number <= STARTUP_TRIALS:
            rng = np.random.default_rng([self.random_state, 2, number])
            for _ in range(REPEATS):
                near = self.space.near_default(rng)
                if _key(self.space.settings(near)) not in self._values:
                    break
            self.study.enqueue_trial(near)
        return self.study.ask()

    def _enough(self, repeats: int) -> str | None:
        from optuna.trial import TrialState

        trials = self.study.get_trials(deepcopy=False)
        begun = [one for one in trials if one.state != TrialState.WAITING]
        if self.limits.n_trials is not None and len(begun) >= self.limits.n_trials:
            return "trials"
        if repeats >= REPEATS:
            return "space"
        if self._best is not None and self._best >= 1:
            return "perfect"
        # What cannot be finished is not begun.
        if self.limits.left <= self._needed():
            return "time"
        failed = [one for one in begun if not one.intermediate_values]
        if len(failed) == len(begun) >= FAILURES:
            said = failed[0].user_attrs.get(ERROR, KILLED)
            raise TrainingError(
                f"all of the first {len(begun)} trials failed, the first with: {said}"
            ) from self._first_error
        return None

    def _needed(self) -> float:
        """Return the seconds that a trial over all parts takes, if it is a fast one.

        Nothing is told from the first, which compiles kernels and loads libraries.
        """
        n_parts = len(self.study.user_attrs.get(SIZES, []))
        by_part = [[one[i] for one in self._seconds[1:] if i < len(one)] for i in range(n_parts)]
        return sum(min(seconds, default=0.0) for seconds in by_part)

    def _remember(self) -> None:
        """Take up what earlier runs have found."""
        from optuna.trial import TrialState

        for one in self.study.get_trials(deepcopy=False):
            if one.state in (TrialState.COMPLETE, TrialState.PRUNED) and SECONDS in one.user_attrs:
                self._note(
                    one.user_attrs[SETTINGS],
                    list(one.intermediate_values.values()),
                    one.user_attrs[SECONDS],
                )
            if one.state == TrialState.COMPLETE:
                self._best = max(self._best or 0.0, float(one.value or 0.0))

    def _note(self, settings: Settings, values: list[float], seconds: list[float]) -> None:
        self._values[_key(settings)] = values
        if len(seconds) == len(values):  # else some were known
            self._seconds.append(seconds)

    # -------------------------------------------------------------- one trial

    def _trial(self, trial: Trial, settings: Settings, task: progress.Task) -> bool:
        """Run one trial and record what came of it; return whether there was time for it."""
        with shielded():
            trial.set_user_attr(SETTINGS, settings)
        try:
            self._parts(trial, settings, task)
        except TimeIsUp:
            self._tell_failed(trial, TIME_UP, unfinished=True)
            return False
        except KeyboardInterrupt:
            self._tell_failed(trial, "stopped", unfinished=True)
            raise
        except (DataError, MissingExtraError) as error:
            self._tell_failed(trial, _said(error))
            if trial.number == 0:  # not of these settings: nothing else would fare better
                raise
            self._announce_failure(trial, error)
        except Exception as error:  # noqa: BLE001  out of memory, or anything a library raises
            self._tell_failed(trial, _said(error))
            if isinstance(error, MultitudesError):
                self._first_error = self._first_error or error
            self._announce_failure(trial, error)
        return True

    def _parts(self, trial: Trial, settings: Settings, task: progress.Task) -> None:
        """Learn from growing parts; end early if others did better on the same part."""
        known = self._values.get(_key(settings), [])
        values: list[float] = []
        seconds: list[float] = []
        ended = False
        while not ended:
            task.note(self._words(trial, len(values)))
            attributes: dict[str, Any] = {SECONDS: seconds}
            if len(values) < len(known):
                values.append(known[len(values)])
            else:
                done = self._measured(settings, len(values))
                values.append(done.value)
                seconds.append(done.seconds)
                self._plan(done, settings)
                if self._is_last(values) and (self._best is None or done.value > self._best):
                    with self.limits.deadline.enforced(reserve=self.limits.reserve):
                        attributes[TEST] = packed(self.learner.on_test(done.tagger))
            ended = self._record(trial, values, attributes)
        self._note(settings, values, seconds)
        if self._is_last(values):
            self._announce(trial, values[-1])
            self._best = values[-1] if self._best is None else max(self._best, values[-1])

    def _is_last(self, values: list[float]) -> bool:
        """Whether these are the values of all parts."""
        return len(values) == len(self.study.user_attrs[SIZES])

    def _record(self, trial: Trial, values: list[float], attributes: dict[str, Any]) -> bool:
        """Store what a part has shown, and return whether the trial ends with it."""
        from optuna.trial import TrialState

        with shielded():
            trial.report(values[-1], self.limits.reduction ** (len(values) - 1))
            for name, content in attributes.items():
                trial.set_user_attr(name, content)
            if self._is_last(values):
                self.study.tell(trial, values[-1], state=TrialState.COMPLETE)
                return True
            if trial.should_prune():
                self.study.tell(trial, state=TrialState.PRUNED)
                return True
        return False

    def _measured(self, settings: Settings, part: int) -> Measured:
        """Learn from a part, and measure; what takes far longer than the default is given up."""
        sizes = self.study.user_attrs.get(SIZES) or self._sizes(self.n_train)
        patience = left = self.limits.left
        if self._seconds and part < len(self._seconds[0]):
            usual, whole = self._seconds[0][part], self.limits.deadline.seconds
            patience = min(left, max(SLOWER * usual, SHARE_OF_BUDGET * whole))
        if left <= 0:
            raise TimeIsUp
        try:
            with Deadline(patience).enforced():
                return self.learner.measured(settings, int(sizes[part]))
        except TimeIsUp:
            if patience == left:
                raise
            raise TrainingError(
                f"given up after {patience:.1f} s with {sizes[part]:,} instances, for which the "
                f"default took {usual:.1f} s"
            ) from None

    def _sizes(self, largest: int) -> list[int]:
        limits = self.limits
        return part_sizes(largest, reduction=limits.reduction, most_parts=limits.most_parts)

    def _plan(self, done: Measured, settings: Settings) -> None:
        """Fix the parts, once it is known how long the smallest takes.

        If trials on all of the data would leave room for a few only, all learn from less.
        """
        if SIZES in self.study.user_attrs:
            return
        sizes = self._sizes(self.n_train)
        allowed = self.limits.left / FULL_TRIALS
        seconds = done.seconds
        if seconds * sizes[-1] / sizes[0] > allowed and len(sizes) > 1:
            # The first training compiles kernels and loads libraries: the second one counts.
            seconds = min(seconds, self._measured(settings, 0).seconds)
        whole = seconds * sizes[-1] / sizes[0]
        if whole > allowed and len(sizes) > 1:
            largest = max(sizes[0], int(sizes[0] * allowed / seconds))
            sizes = [sizes[0]] + [n for n in sizes[1:-1] if n < largest] + [largest]
            sizes = sorted(set(sizes))
            progress.say(
                f"training on all {self.n_train:,} instances would take about "
                f"{progress.duration(whole)}: trials learn from at most {largest:,}; with a longer "
                "budget, from more",
                urgent=True,
            )
        self.study.set_user_attr(SIZES, sizes)

    def _tell_failed(self, trial: Trial, error: str, *, unfinished: bool = False) -> None:
        """Record why a trial has no value.

        Optuna forgets trials that failed. To those that were pruned before they had a value its
        sampler gives the worst, and learns to stay away, e.g. from what needs too much memory.
        """
        from optuna.trial import TrialState

        with shielded():
            trial.set_user_attr(ERROR, error)
            if unfinished:
                trial.set_user_attr(UNFINISHED, True)
            self.study.tell(trial, state=TrialState.FAIL if unfinished else TrialState.PRUNED)

    # -------------------------------------------------------------- words

    def _words(self, trial: Trial, part: int) -> str:
        best = "" if self._best is None else f", best {100 * self._best:.2f}"
        sizes = self.study.user_attrs.get(SIZES)
        return f"trial {trial.number}, part {part + 1} of {len(sizes) if sizes else '?'}{best}"

    def _announce(self, trial: Trial, value: float) -> None:
        if self._best is None or value > self._best:
            which = " (the default)" if trial.number == 0 else ""
            progress.say(f"trial {trial.number}{which}: {100 * value:.2f}, the best so far")

    def _announce_failure(self, trial: Trial, error: Exception) -> None:
        self._n_failed += 1
        if self._n_failed <= FAILURES:  # the result counts the others
            progress.say(f"trial {trial.number} failed: {_said(error)}")


def _said(error: BaseException) -> str:
    """Return an error on one line; those that are not ours with their class."""
    text = str(error).partition("\n")[0][:300]
    if isinstance(error, MultitudesError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _key(settings: Settings) -> str:
    return json.dumps(settings, sort_keys=True)
