"""Model cards as the verbs write them: what was typed, on which data, what came of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from multitudes.cli import typed
from multitudes.cli.files.streams import STANDARD

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.metrics import Report
    from multitudes.tagger.reports.card import ModelCard


def note(
    verb: str,
    target: Path,
    *,
    data: tuple[Path, Dataset] | None = None,
    reports: Mapping[str, Report] | None = None,
    notes: Sequence[str] = (),
    before: ModelCard | None = None,
) -> None:
    """Write the card of a model that a verb has just saved.

    Parameters
    ----------
    verb : str
    target : Path
        The model folder.
    data : (path, Dataset), optional
        What it learned from.
    reports : mapping of str to Report, optional
        What was measured, and on what.
    notes : sequence of str
    before : ModelCard, optional
        The card of the model that was changed.
    """
    from multitudes.tagger.reports.card import CardData, CardEvent, ModelCard

    described = None
    if data is not None:
        path, dataset = data
        described = CardData.of("stdin" if path == STANDARD else str(path), dataset)
    metrics = {name: dict(report.values) for name, report in (reports or {}).items()}
    event = CardEvent(verb, command(), described, metrics, tuple(notes))
    (before or ModelCard()).and_then(event).write(target)


def command() -> str:
    """Return the command line that is running."""
    return shlex.join(["multitudes", *typed.get()])
