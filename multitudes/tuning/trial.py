"""One trial, as people and programs are told of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

STATES = ("finished", "ended early", "failed", "unfinished")


@dataclass(frozen=True)
class Trial:
    """One set of settings that was tried.

    Parameters
    ----------
    number : int
        The first, 0, is the default.
    settings : dict
        What differs from the default.
    values : dict of int to float
        The metric on the validation data, by the number of instances that were learned from.
    state : str
        "finished", "ended early", "failed" or "unfinished".
    seconds : float
        What learning and measuring took.
    error : str, optional
        Why it failed.
    """

    number: int
    settings: dict[str, Any]
    values: dict[int, float]
    state: str
    seconds: float
    error: str | None = None

    @property
    def value(self) -> float | None:
        """The metric after learning from the largest part; None if it did not get there."""
        return list(self.values.values())[-1] if self.state == "finished" else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, whose keys are texts."""
        values = {str(n_instances): value for n_instances, value in self.values.items()}
        return asdict(self) | {"values": values, "value": self.value}
