"""What a search found, and whether it is better than the default: as words, numbers, settings."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from multitudes.errors import counted
from multitudes.metrics import Difference
from multitudes.metrics.tables import aligned, wrapped
from multitudes.tagger import Tagger
from multitudes.tuning.figure import figure_of
from multitudes.tuning.importance import importances
from multitudes.tuning.trial import STATES, Trial

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class TuningResult:
    """What `Tuner.tune` returns.

    Parameters
    ----------
    metric : str
    settings : dict
        The best settings found, as ``Tagger(settings=...)`` and ``train --set`` take them: the
        fixed ones, and those that differ from the default.
    best, default : Trial or None
        The default is None if it failed.
    difference : Difference or None
        The best against the default on the test data, which nothing was chosen on; None if they
        are the same, or the default failed.
    trials : list of Trial
    searched : dict of name to str
        The values that were searched.
    sizes : dict of str to int
        Instances: "train", "largest part", "validation", "test".
    seconds : float
        What this run took.
    ended_by : str
        "time", "trials", "space" (all was tried), "perfect" (there is no better) or "stopped".
    """

    metric: str
    settings: dict[str, Any]
    best: Trial
    default: Trial | None
    difference: Difference | None
    trials: list[Trial]
    searched: Mapping[str, str]
    sizes: Mapping[str, int]
    seconds: float
    ended_by: str
    _tagger: Tagger = field(repr=False)
    _frozen: Sequence[FrozenTrial] = field(repr=False)

    def tagger(self) -> Tagger:
        """Return an unfitted tagger with the best settings."""
        from multitudes.scikit_learn import clone

        made: Tagger = clone(self._tagger)
        return made.set_params(settings=dict(self.settings))

    @property
    def is_better(self) -> bool:
        """Whether the best is better than the default on the test data, p < 0.05."""
        found = self.difference
        return found is not None and found.difference > 0 and found.p_value < SIGNIFICANT

    def verdict(self) -> str:
        """Return what the comparison on the test data says, in a sentence."""
        if self.default is None:
            return "the default failed: there is nothing to compare the best with"
        if self.difference is None:
            return "nothing better than the default was found: keep it"
        d, n = self.difference, counted(self.sizes["test"], "instance")
        numbers = (
            f"{self.metric} {100 * d.a:.2f}, default {100 * d.b:.2f}, difference "
            f"{100 * d.difference:+.2f} [{100 * d.low:+.2f}, {100 * d.high:+.2f}], "
            f"p = {d.p_value:.4f}"
        )
        on = f"on {n} that the search did not choose on: {numbers}"
        if self.is_better:
            return f"{on}: better than the default"
        if d.p_value < SIGNIFICANT:
            return f"{on}: worse than the default; keep the default"
        return f"{on}: not told apart from the default; keep it, or give more data or time"

    def importances(self) -> dict[str, float]:
        """Return what share of the differences between trials each setting explains (fANOVA).

        Over all trials on the smallest part, which each of them learned from. Empty if there are
        too few.
        """
        return importances(self._frozen)

    def figure(self) -> Any:
        """Return a matplotlib figure: trials one after the other, and what mattered."""
        return figure_of(self.metric, self.trials, self.importances())

    def assignments(self) -> list[str]:
        """Return the settings as ``--set`` takes them: ``solver.cost=2.5``."""
        return [f"{name}={_spelled(value)}" for name, value in self.settings.items()]

    def command(self, data: str = "DATA", model: str = "MODEL") -> str:
        """Return the command that trains with the settings."""
        tagger = self._tagger
        words = ["multitudes", "train", data, "-o", model]
        if isinstance(tagger.model, str):
            words += ["--model", tagger.model]
        if isinstance(tagger.features, str):
            words += ["--features", tagger.features]
        for assignment in self.assignments():
            words += ["--set", assignment]
        return shlex.join(words)

    def rows(self, n: int = 5) -> list[list[str]]:
        """Return a header and the best `n` trials, and the default."""
        by_settings: dict[str, Trial] = {}
        for one in self.trials:
            if one.value is not None:
                by_settings.setdefault(json.dumps(one.settings, sort_keys=True), one)
        finished = list(by_settings.values())
        ranked = sorted(finished, key=lambda one: (-(one.value or 0), one.number))
        shown = ranked[:n] + [one for one in ranked[n:] if one.number == 0]
        rows = [["trial", "settings", f"{self.metric} (validation)", "seconds"]]
        for one in shown:
            words = " ".join(f"{name}={_spelled(v)}" for name, v in one.settings.items())
            value = f"{100 * (one.value or 0):.2f}"
            rows.append([str(one.number), words or "(default)", value, f"{one.seconds:.1f}"])
        return rows

    def remarks(self) -> list[str]:
        """Return what belongs below the table: how the search went, and the verdict."""
        counts = {state: sum(one.state == state for one in self.trials) for state in STATES}
        told = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)
        sizes = self.sizes
        part = sizes["largest part"]
        of_all = f" of {sizes['train']:,}" if part < sizes["train"] else ""
        lines = [
            f"{counted(len(self.trials), 'trial')} ({told}) in {self.seconds:.0f} s; learned from "
            f"{counted(part, 'instance')}{of_all}, chosen on {sizes['validation']:,}; in percent"
        ]
        ends = {
            "space": "Every combination of the values that are searched was tried.",
            "perfect": "It ended early: no value can be higher than the best.",
        }
        lines += [ends[self.ended_by]] if self.ended_by in ends else []
        errors = [one for one in self.trials if one.state == "failed"]
        if errors:
            lines.append(f"The first failure, trial {errors[0].number}: {errors[0].error}")
        verdict = self.verdict()
        return [*lines, verdict[0].upper() + verdict[1:] + "."]

    def __str__(self) -> str:
        return "\n".join([aligned(self.rows()), *wrapped(self.remarks())])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        model, features = self._tagger.model, self._tagger.features
        return {
            "model": model if isinstance(model, str) else repr(model),
            "features": features
            if features is None or isinstance(features, str)
            else repr(features),
            "settings": self.settings,
            "command": self.command(),
            "metric": self.metric,
            "best": self.best.to_dict(),
            "default": None if self.default is None else self.default.to_dict(),
            "is_better": self.is_better,
            "difference": None if self.difference is None else asdict(self.difference),
            "verdict": self.verdict(),
            "sizes": dict(self.sizes),
            "searched": dict(self.searched),
            "seconds": self.seconds,
            "ended_by": self.ended_by,
            "trials": [one.to_dict() for one in self.trials],
        }


def _spelled(value: Any) -> str:
    """Return a value as ``--set`` reads it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"))
