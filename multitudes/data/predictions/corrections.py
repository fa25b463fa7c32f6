"""What people made of predictions: labels accepted, rejected and added, as JSON lines.

Each line is a record that every reader of JSON lines takes: its ``labels`` are those accepted and
those added. A text may be corrected again: the last correction of it counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xxhash

from multitudes.data.dataset import Dataset

LONGEST_HEAD = 1 << 26  # bytes of a first line that is looked at


@dataclass(frozen=True)
class Correction:
    """A text and what somebody said about its labels.

    Parameters
    ----------
    text : str
    accepted, rejected, added : tuple of str
        Labels that were predicted and are right, that were predicted and are wrong, and that
        were not predicted and are right.
    model, version : str, optional
        What predicted them.
    uid : str
        Of the text; by default made of it.
    time : str
        ISO 8601, in UTC; now by default.
    """

    text: str
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    model: str | None = None
    version: str | None = None
    uid: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        if not self.uid:
            digest = xxhash.xxh3_128_hexdigest(self.text.encode("utf-8", "replace"))
            object.__setattr__(self, "uid", digest)
        if not self.time:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            object.__setattr__(self, "time", now.replace("+00:00", "Z"))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the text has: accepted and added."""
        return tuple(dict.fromkeys((*self.accepted, *self.added)))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and the labels."""
        return {"uid": self.uid, "text": self.text, "labels": self.labels, **asdict(self)}

    def line(self) -> bytes:
        """Return the line of a file."""
        return orjson.dumps(self.to_dict()) + b"\n"


def is_corrections(path: str | Path) -> bool:
    """Whether a file is one of corrections, by its first line."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        try:
            first = orjson.loads(file.readline(LONGEST_HEAD))
        except orjson.JSONDecodeError:
            return False
    return isinstance(first, dict) and {"accepted", "rejected", "added"} <= first.keys()


def latest(dataset: Dataset) -> Dataset:
    """Return the last correction of each text, which is known by its uid or by its words."""
    seen: set[tuple[str, str]] = set()
    kept: list[int] = []
    uids = dataset.uids or [""] * len(dataset)
    texts = dataset.texts or [""] * len(dataset)
    for row in range(len(dataset) - 1, -1, -1):
        keys = {(name, key) for name, key in (("uid", uids[row]), ("text", texts[row])) if key}
        if not keys & seen:
            kept.append(row)
        seen |= keys
    return dataset.take(np.array(kept[::-1], np.int64))
