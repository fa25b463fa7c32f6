"""Loss terms kept on the device until somebody looks, because each look waits for the device."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from multitudes.errors import ConfigError

LOSS = "loss"


class LossTerms:
    """The loss terms of the batches since the last look.

    Parameters
    ----------
    capacity : int
        Batches between two looks, at most.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.names: tuple[str, ...] = ()
        self._rows = torch.empty(0)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, terms: Mapping[str, torch.Tensor]) -> None:
        """Keep the terms of one batch: no copy to the host, nothing waits."""
        if not self.names:
            self._begin(terms)
        if len(terms) != len(self.names):
            raise ConfigError(
                f"a step must give the same terms each time: {list(self.names)} before, "
                f"{list(terms)} now"
            )
        row = [terms[name].detach().float().reshape(()) for name in self.names]
        torch.stack(row, out=self._rows[self._n])  # (n_terms,)
        self._n += 1

    def read(
        self, across: Callable[[torch.Tensor], torch.Tensor] | None = None
    ) -> list[dict[str, float]]:
        """The terms of each batch since the last look; waits for the device.

        `across` takes the mean over processes.
        """
        rows = self._rows[: self._n]  # (n_batches, n_terms)
        rows = across(rows) if across is not None and self._n else rows
        self._n = 0
        return [dict(zip(self.names, row, strict=True)) for row in rows.tolist()]

    def _begin(self, terms: Mapping[str, torch.Tensor]) -> None:
        if LOSS not in terms:
            raise ConfigError(f"a step must give a term {LOSS!r}, got {list(terms)}")
        self.names = tuple(terms)
        shape = (self.capacity, len(self.names))
        self._rows = torch.zeros(shape, device=terms[LOSS].device)


def first_not_finite(rows: list[dict[str, float]]) -> tuple[int, dict[str, float]] | None:
    """(batch, its bad terms) of the first batch with a term that is infinite or not a number."""
    for i, row in enumerate(rows):
        bad = {name: value for name, value in row.items() if not math.isfinite(value)}
        if bad:
            return i, bad
    return None
