"""From a study to a `TuningResult`: trials read, the best one compared with the default."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from multitudes import progress
from multitudes.metrics import Difference, Resampling
from multitudes.tagger import Tagger
from multitudes.tagger.auto.deadline import Deadline
from multitudes.tuning.learning import Learner, unpacked
from multitudes.tuning.parts import Parts
from multitudes.tuning.result import TuningResult
from multitudes.tuning.search import KILLED
from multitudes.tuning.space import Space
from multitudes.tuning.study import ERROR, SECONDS, SETTINGS, SIZES, TEST, UNFINISHED
from multitudes.tuning.trial import Trial

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial


@dataclass(frozen=True)
class Findings:
    """Reads what a study holds.

    Parameters
    ----------
    tagger : Tagger
        What is tuned.
    learner : Learner
        Knows the test data.
    parts : Parts
    space : Space
    deadline : Deadline
        Of this run.
    """

    tagger: Tagger
    learner: Learner
    parts: Parts
    space: Space
    deadline: Deadline

    def result(self, study: Study, ended_by: str) -> TuningResult | None:
        """Return what was found; None if no trial has learned from the largest part."""
        from optuna.trial import TrialState

        frozen = [one for one in study.get_trials() if one.state != TrialState.WAITING]
        sizes: list[int] = study.user_attrs.get(SIZES, [])
        trials = [_trial(one, sizes) for one in frozen]
        finished = [one for one in trials if one.value is not None]
        if not finished:
            return None
        best = max(finished, key=lambda one: (one.value or 0.0, -one.number))
        default = next((one for one in finished if one.number == 0), None)
        fixed = {} if self.tagger.settings is None else dict(self.tagger.settings)
        return TuningResult(
            metric=self.learner.test.metric.name,
            settings=fixed | best.settings,
            best=best,
            default=default,
            difference=self._difference(frozen, best, default),
            trials=trials,
            searched=self.space.described(),
            sizes={
                "train": len(self.parts.train),
                "largest part": sizes[-1],
                "validation": len(self.parts.validation),
                "test": len(self.parts.test),
            },
            seconds=self.deadline.elapsed,
            ended_by=ended_by,
            _tagger=self.tagger,
            _frozen=frozen,
        )

    def _difference(
        self, frozen: list[FrozenTrial], best: Trial, default: Trial | None
    ) -> Difference | None:
        """Compare what both said about the test data."""
        if default is None or best.number == default.number:
            return None
        stored = {one.number: one.user_attrs.get(TEST) for one in frozen}
        ours, theirs = stored[best.number], stored[default.number]
        assert ours is not None  # kept for each trial when it becomes the best
        assert theirs is not None
        resampling = Resampling(random_state=self.parts.random_state)
        with progress.hushed():
            return self.learner.test.difference(unpacked(ours), unpacked(theirs), resampling)


def first_error(study: Study) -> str | None:
    """Return why the first of the failed trials failed; None if none did."""
    failed = [one for one in study.get_trials(deepcopy=False) if UNFINISHED not in one.user_attrs]
    return next((one.user_attrs[ERROR] for one in failed if ERROR in one.user_attrs), None)


def _trial(one: FrozenTrial, sizes: list[int]) -> Trial:
    from optuna.trial import TrialState

    attributes: dict[str, Any] = one.user_attrs
    failed = ERROR in attributes or not one.intermediate_values
    state = "ended early"
    if one.state == TrialState.COMPLETE:
        state = "finished"
    elif UNFINISHED in attributes:
        state = "unfinished"
    elif failed:
        state = "failed"
    return Trial(
        number=one.number,
        settings=json.loads(json.dumps(attributes.get(SETTINGS, {}))),
        values=dict(zip(sizes, one.intermediate_values.values(), strict=False)),
        state=state,
        seconds=float(sum(attributes.get(SECONDS, []))),
        error=attributes.get(ERROR, KILLED) if failed and state != "finished" else None,
    )
