"""The model card: where a model comes from. It lies beside the model, in ``card.json``.

A card is not part of the model. It has dates and commands in it, and two trainings that give the
same model would differ by them; so the manifest does not list it, hashes do not cover it, and
a model without one is whole. A card names the data folder of the save that it describes: after
the model is replaced by a save that writes no card, the old card no longer counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Self

import orjson

from multitudes.errors import StoreError, counted
from multitudes.files.lease import HeldError
from multitudes.files.writing import replaced_file
from multitudes.store import read_manifest
from multitudes.store.opening import is_file, read_file
from multitudes.store.strict_json import MAX_BYTES
from multitudes.version import __version__

CARD = "card.json"
FORMAT = "multitudes-card"


@dataclass(frozen=True)
class CardData:
    """Data that a model has met.

    Parameters
    ----------
    name : str
        File or folder, as it was given.
    n_instances, n_labels, n_assigned : int
        Instances, different labels that they have, and labels that they have in all.
    """

    name: str
    n_instances: int
    n_labels: int
    n_assigned: int

    @classmethod
    def of(cls, name: str, dataset: Any) -> Self:
        """Describe a Dataset."""
        used = len(set(dataset.Y.indices.tolist()))
        return cls(name, len(dataset), used, int(dataset.Y.nnz))

    def __str__(self) -> str:
        each = self.n_assigned / self.n_instances if self.n_instances else 0.0
        return (
            f"{self.name}: {counted(self.n_instances, 'instance')}, "
            f"{counted(self.n_labels, 'label')}, {each:.1f} for each instance"
        )


@dataclass(frozen=True)
class CardEvent:
    """Something that was done to a model.

    Parameters
    ----------
    verb : str
        "train", "calibrate" or "update".
    command : str
        What was typed.
    data : CardData, optional
    metrics : dict of str to dict of str to float
        By what they were measured on, e.g. "test", and by name, e.g. "P@1"; between 0 and 1.
    notes : tuple of str
        Sentences about it, e.g. which model was chosen and why.
    date : str
        ISO 8601, in UTC; now by default.
    library_version : str
    """

    verb: str
    command: str
    data: CardData | None = None
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    date: str = ""
    library_version: str = __version__

    def __post_init__(self) -> None:
        if not self.date:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            object.__setattr__(self, "date", now.replace("+00:00", "Z"))

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Build from what `asdict` gave."""
        data = content["data"]
        notes = tuple(map(str, content["notes"]))
        given = CardData(**data) if data is not None else None
        event = cls(**{**content, "data": given, "notes": notes})
        _check(event)
        return event


@dataclass(frozen=True)
class ModelCard:
    """The history of a model.

    Parameters
    ----------
    events : tuple of CardEvent
        What was done to it, oldest first.
    """

    events: tuple[CardEvent, ...] = ()

    @classmethod
    def read(cls, model: str | PathLike[str]) -> Self | None:
        """Return the card of a model folder; None if the model as it is now has none."""
        path = Path(model) / CARD
        if not is_file(path):
            return None
        try:
            content = orjson.loads(read_file(path, MAX_BYTES))
            if content["format"] != FORMAT:
                return None
            if content["data"] != read_manifest(model).data_folder:
                return None  # of a model that has been replaced since
            return cls(tuple(CardEvent.from_dict(event) for event in content["events"]))
        except (OSError, StoreError, ValueError, LookupError, TypeError, AttributeError):
            return None  # not ours, or cut off: the model is whole without it

    def and_then(self, event: CardEvent) -> Self:
        """Return the card with a further event."""
        return replace(self, events=(*self.events, event))

    def write(self, model: str | PathLike[str]) -> None:
        """Put the card beside the model that is in a folder now."""
        folder = Path(model)
        path = folder / CARD
        if path.exists() and not _is_ours(path):
            raise StoreError(f"{path} is not a model card: rename it, or choose another folder")
        content = {
            "format": FORMAT,
            "data": read_manifest(folder).data_folder,
            "events": [asdict(event) for event in self.events],
        }
        try:
            with replaced_file(path) as file:
                file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
        except OSError as error:
            raise StoreError(f"could not write {path}: {error}") from error
        except HeldError as error:
            raise StoreError(f"could not write {path}: {error} is writing it") from error


def _check(event: CardEvent) -> None:
    """Raise a TypeError or ValueError if a file says something else than what is written."""
    words = [event.verb, event.command, event.date, event.library_version]
    counts: list[object] = []
    if event.data is not None:
        words.append(event.data.name)
        counts = [event.data.n_instances, event.data.n_labels, event.data.n_assigned]
    numbers: list[object] = []
    for part, metrics in event.metrics.items():
        words += [part, *metrics]
        numbers += metrics.values()
    if not all(isinstance(number, (int, float)) for number in numbers):
        raise TypeError("a card holds numbers")
    if not all(isinstance(word, str) for word in words):
        raise TypeError("a card holds names")
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError("a card holds counts")


def _is_ours(path: Path) -> bool:
    try:
        return bool(orjson.loads(read_file(path, MAX_BYTES))["format"] == FORMAT)
    except (OSError, StoreError, ValueError, LookupError, TypeError):
        return False
