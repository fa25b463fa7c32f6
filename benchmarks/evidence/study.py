"""What a study is: a question, the rows that answer it, seeds, and how one of them is run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Values = dict[str, float]
Run = Callable[[Path, Mapping[str, Any], int], Values]


@dataclass(frozen=True, eq=False)
class Study:
    """A question about the papers, and what is trained to answer it.

    Parameters
    ----------
    name : str
        Records are called ``NAME-DATA.json``.
    question : str
    rows : dict
        Name of a row of the table to its settings, which `run` understands.
    run : callable
        ``run(source, settings, seed)`` trains and measures one row with one seed on the data folder
        `source`, and returns measures by name. `settings` are those of the row over `common` over
        those of the data set.
    data : dict
        Data sets this is asked of, each with settings of its own.
    common : dict
        Settings of all rows.
    seeds : int
    generated : tuple of str
        Names among `data` that are no folders: `run` makes them itself.
    meaning : callable, optional
        ``meaning(data, settings)`` gives the settings without what they would be anyway on that
        data set: rows that mean the same are run once.
    """

    name: str
    question: str
    rows: Mapping[str, Mapping[str, Any]]
    run: Run
    data: Mapping[str, Mapping[str, Any]]
    common: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 3
    generated: tuple[str, ...] = ()
    meaning: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] = lambda data, settings: settings

    def settings(self, data: str) -> dict[str, Any]:
        """What all rows on a data set have in common."""
        return {**self.common, **self.data.get(data, {})}


@dataclass(frozen=True)
class Job:
    """One row of a study, with one seed, on one data set."""

    study: Study
    data: str
    row: str
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """What `run` is given: a row's own settings come last."""
        return {**self.study.settings(self.data), **self.study.rows[self.row]}

    @property
    def file_name(self) -> str:
        """Where it is stored: the same for a row of another study that means the same."""
        run = f"{self.study.run.__module__}.{self.study.run.__qualname__}"
        what = json.dumps([run, self.study.meaning(self.data, self.settings)], sort_keys=True)
        return f"{self.data}--{self.seed}--{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"

    def __str__(self) -> str:
        return f"{self.study.name}, {self.data}, {self.row}, seed {self.seed}"


def jobs_of(
    study: Study, data: str, *, rows: Collection[str] = (), seeds: int | None = None
) -> list[Job]:
    """All jobs, every row with the first seed before any with the second.

    Parameters
    ----------
    study : Study
    data : str
        Name of the data set.
    rows : names, optional
        By default all rows.
    seeds : int, optional
        How many; by default the study's.
    """
    chosen = [row for row in study.rows if not rows or row in rows]
    n_seeds = study.seeds if seeds is None else seeds
    return [Job(study, data, row, seed) for seed in range(n_seeds) for row in chosen]
