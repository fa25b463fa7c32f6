"""Model folders that are about to be replaced: say what is there, and ask."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import typer

from multitudes.errors import ConfigError, counted


def may_replace(folder: Path, *, force: bool) -> None:
    """Let a model be replaced that is in the way; ask on a terminal, else refuse.

    Parameters
    ----------
    folder : Path
        Where a model is about to be saved; nothing happens if there is none.
    force : bool
        Whether the user has said so already.
    """
    from multitudes.store.manifest import MANIFEST

    if force or not (folder / MANIFEST).is_file():
        return
    there = f"{folder} holds a model already: {described(folder)}"
    if _can_ask():
        if typer.confirm(f"{there}. Replace it?", default=False, err=True):
            return
        raise ConfigError(f"{folder} was left as it is")
    raise ConfigError(
        f"{there}: add --force to replace it, choose another -o, or teach it the new data with "
        f"multitudes update {folder} DATA"
    )


def _can_ask() -> bool:
    """Return whether somebody sees the question and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def described(folder: Path) -> str:
    """Return in a few words which model is in a folder."""
    from multitudes.store import read_manifest
    from multitudes.store.manifest import MANIFEST
    from multitudes.tagger.reports.card import ModelCard

    root = read_manifest(folder).root
    model = root.parts.get("model", root).kind
    n_labels = root.strings.get("labels")
    labels = f", {counted(n_labels, 'label')}" if n_labels is not None else ""
    card = ModelCard.read(folder)
    date = card.events[-1].date if card is not None and card.events else None
    if date is None:
        saved = datetime.fromtimestamp((folder / MANIFEST).stat().st_mtime, UTC)
        date = saved.isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{model}{labels}, of {date.replace('T', ' ').replace('Z', ' UTC')}"
