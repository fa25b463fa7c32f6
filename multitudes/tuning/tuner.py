"""Tuner: searches for settings that are better than the default, and says whether they are."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitudes import progress
from multitudes.config import Config, setting
from multitudes.errors import ConfigError, TrainingError, require
from multitudes.tagger import Tagger, inputs
from multitudes.tagger.auto.deadline import Budget, Deadline, seconds_of
from multitudes.tuning.findings import Findings, first_error
from multitudes.tuning.learning import Learner
from multitudes.tuning.metric import Metric
from multitudes.tuning.parts import Parts, divide
from multitudes.tuning.result import TuningResult
from multitudes.tuning.search import Limits, Searcher
from multitudes.tuning.space import Space, Wanted, search_space
from multitudes.tuning.study import EXTRA, opened

if TYPE_CHECKING:
    from optuna import Study

RESERVE = 0.02  # of the budget, for the comparison at the end


@dataclass(frozen=True)
class TuningConfig(Config):
    """How a search goes about it."""

    n_trials: int | None = setting(
        None,
        "Trials at most, those of earlier runs included; by default as many as time allows.",
        at_least=1,
    )
    reduction: int = setting(
        3,
        "One of so many trials goes on to the next part, which is so many times larger.",
        at_least=2,
        at_most=100,
    )
    most_parts: int = setting(
        3,
        "Growing parts of the data at most; with 1 every trial learns from all of it.",
        at_least=1,
        at_most=10,
    )
    random_state: int = setting(
        0, "Same seed, same parts and same trials, as far as time allows.", at_least=0
    )


class Tuner:
    """Searches for better settings of a model and its features, within a time.

    The default settings are the first trial. Those that do best on the validation data are compared
    with them on test data that nothing was chosen on.

    Parameters
    ----------
    tagger : str or Tagger
        What is tuned: a model's name, or a Tagger, whose own settings stay as they are.
    metric : str
        Any that `multitudes evaluate` prints: "nDCG@5", "P@1", "PSP@3", "macro-F1@5", "micro-F1".
    budget : str, float or timedelta
        Wall time of a call of `tune`: "30m", "1h30m", or a number of seconds.
    search : names, or mapping of name to Search, optional
        The settings to search; by default all that declare values worth trying. Own values are made
        by `between` and `among` of `multitudes.config`; None stands for the declared ones.
    study : path, optional
        SQLite file that keeps the trials: a search that was stopped or killed goes on from there.
    config : TuningConfig
        Number of trials, the growing parts, the seed.

    Attributes
    ----------
    result_ : TuningResult
        What was found, also if Ctrl-C ended the search.

    Examples
    --------
    >>> result = Tuner("xr-linear", budget="5m").tune(texts, labels)  # doctest: +SKIP
    >>> print(result)  # doctest: +SKIP
    >>> tagger = result.tagger().fit(texts, labels)  # doctest: +SKIP
    """

    result_: TuningResult

    def __init__(
        self,
        tagger: str | Tagger,
        *,
        metric: str = "nDCG@5",
        budget: Budget = "10m",
        search: Wanted = None,
        study: str | PathLike[str] | None = None,
        config: TuningConfig = TuningConfig(),
    ) -> None:
        self.tagger = tagger
        self.metric = metric
        self.budget = budget
        self.search = search
        self.study = study
        self.config = config

    def check(self) -> None:
        """Refuse an unknown model, setting, metric or budget at once, before any data is read."""
        require("optuna", extra=EXTRA)
        self._tagger().check()
        Metric.named(self.metric)
        seconds_of(self.budget)
        if not isinstance(self.config, TuningConfig):
            raise ConfigError(f"config must be a TuningConfig, got {self.config!r:.200}")

    def tune(
        self, texts: Any, labels: Any = None, *, validation: Any = None, test: Any = None
    ) -> TuningResult:
        """Search until the budget is spent, and return what was found.

        Parameters
        ----------
        texts, labels : as in `Tagger.fit`
        validation, test : Dataset, (texts, labels) or float, optional
            What trials are chosen on, and what the best and the default are compared on; or a share
            of the data to hold out for it. By default a tenth of the data each, and at most 10,000
            instances.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C; `result_` has what was found until then, if anything was.
        """
        self.__dict__.pop("result_", None)
        self.check()
        deadline = Deadline(seconds_of(self.budget))
        tagger, metric = self._tagger(), Metric.named(self.metric)
        parts = self._parts(texts, labels, validation, test)
        space = search_space(tagger, parts.train, self.search)
        learner = Learner(tagger, parts, metric)
        limits = Limits(
            deadline,
            min(max(RESERVE * deadline.seconds, 0.2), 5.0),
            self.config.n_trials,
            self.config.reduction,
            self.config.most_parts,
        )
        about = self._about(metric, space, parts)
        path = None if self.study is None else Path(self.study)
        with opened(path, about, reduction=self.config.reduction) as study:
            found = Findings(tagger, learner, parts, space, deadline)
            seed = self.config.random_state
            searcher = Searcher(study, space, learner, limits, len(parts.train), seed)
            try:
                with progress.track("tuning", deadline.seconds) as task:
                    ended_by = searcher.run(task)
            except KeyboardInterrupt:
                self._keep(found.result(study, "stopped"))
                raise
            self._keep(found.result(study, ended_by))
            self._check_found(study)
        return self.result_

    def _check_found(self, study: Study) -> None:
        """Say why there is nothing to return, if that is so."""
        if hasattr(self, "result_"):
            return
        error = first_error(study)
        if error is not None:
            raise TrainingError(f"no trial was finished; the first failed with: {error}")
        raise ConfigError(
            "the time was over before any settings had been tried on the largest part of the "
            "data: give a longer budget, or less data"
        )

    def _keep(self, result: TuningResult | None) -> None:
        if result is not None:
            self.result_ = result

    def _tagger(self) -> Tagger:
        if isinstance(self.tagger, Tagger):
            return self.tagger
        if not isinstance(self.tagger, str):
            raise ConfigError(
                f"what is tuned must be a model's name or a Tagger, got {self.tagger!r:.200}: for "
                "an estimator write Tagger(estimator)"
            )
        return Tagger(self.tagger, random_state=self.config.random_state)

    def _parts(self, texts: Any, labels: Any, validation: Any, test: Any) -> Parts:
        dataset = inputs.labeled(texts, labels)
        held = [
            inputs.labeled(*given) if isinstance(given, tuple) else given
            for given in (validation, test)
        ]
        return divide(dataset, held[0], held[1], self.config.random_state)

    def _about(self, metric: Metric, space: Space, parts: Parts) -> dict[str, Any]:
        """Return all that a search must have in common with the one that it goes on with."""
        spec = self._tagger()._spec()
        return {
            "metric": metric.name,
            "model": spec.model if isinstance(spec.model, str) else repr(spec.model),
            "features": None if spec.features is None else str(spec.features),
            "settings": {name: repr(value) for name, value in spec.settings.items()},
            "search": space.described(),
            "random_state": self.config.random_state,
            "parts": [self.config.reduction, self.config.most_parts],
            "data": parts.fingerprint(),
        }
