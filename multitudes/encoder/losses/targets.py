"""What a batch's similarities should be: drawn positives both ways, and every known pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

BITS_31 = (1 << 31) - 1

Bits = TypeVar("Bits", int, Tensor)


@dataclass(frozen=True)
class Targets:
    """The truth about a batch of b instances and m labels, on its device.

    Parameters
    ----------
    positives : int64 tensor (b, p)
        Columns of the positives drawn for each instance; -1 where it has fewer.
    known : bool tensor (b, m)
        Every known positive pair, drawn or not: none of them is ever a negative.
    label_positives : int64 tensor (m, q)
        The other way round: instances drawn for each label; -1 where it has fewer.
    """

    positives: Tensor
    known: Tensor
    label_positives: Tensor


def make_targets(
    positives: Tensor,
    known_rows: Tensor,
    known_columns: Tensor,
    *,
    n_labels: int,
    random_state: int,
    n_label_positives: int = 1,
) -> Targets:
    """The targets of a batch, without waiting for the device.

    Parameters
    ----------
    positives : int64 tensor (b, p)
        Columns of the drawn positives; -1 where an instance has fewer.
    known_rows, known_columns : int64 tensors (k,)
        Coordinates of every known positive pair of the batch.
    n_labels : int
        Labels of the batch, m.
    random_state : int
        Decides which instances are drawn for each label: give every step its own.
    n_label_positives : int
        Instances drawn for each label, q.
    """
    known = known_pairs(known_rows, known_columns, shape=(len(positives), n_labels))  # (b, m)
    drawn = draw_positives(
        known_columns,
        known_rows,
        n_rows=n_labels,
        n_drawn=n_label_positives,
        random_state=random_state,
    )  # (m, q)
    return Targets(positives, known, drawn)


def known_pairs(rows: Tensor, columns: Tensor, *, shape: tuple[int, int]) -> Tensor:
    """Bool (b, m): True at the coordinates (k,) of known pairs."""
    known = rows.new_zeros(shape, dtype=torch.bool)
    return known.index_put_((rows, columns), known.new_ones(()))


def draw_positives(
    rows: Tensor, columns: Tensor, *, n_rows: int, n_drawn: int = 1, random_state: int
) -> Tensor:
    """Draw columns for each row from the coordinates of its known pairs, uniformly, no repeats.

    Parameters
    ----------
    rows, columns : int64 tensors (k,)
        Known pairs in any order; repeated pairs count once.
    n_rows : int
        Rows of the result.
    n_drawn : int
        Columns drawn for each row.
    random_state : int
        Same seed and pairs, same draw: on any device, and whatever was drawn before.

    Returns
    -------
    int64 tensor (n_rows, n_drawn)
        -1 where a row has fewer known pairs.

    Notes
    -----
    Every pair has a number made from seed, row and column; a row takes its largest. That needs no
    generator, whose state a resumed training would have to restore, and k steps instead of the
    n_rows x n_columns of a draw from the matrix.
    """
    folded = (
        random_state ^ (random_state >> 31) ^ (random_state >> 62)
    ) & BITS_31  # a seed of any size
    key = _mixed(_mixed(rows ^ _mixed(folded)) ^ columns)  # (k,)
    # The number in the upper bits, the column below: the smaller one wins a tie.
    key = (key << 31) | (BITS_31 - columns)  # (k,)
    drawn = []
    for _ in range(n_drawn):
        best = rows.new_full((n_rows,), -1).scatter_reduce(0, rows, key, "amax")  # (n_rows,)
        drawn.append(torch.where(best < 0, best, BITS_31 - (best & BITS_31)))
        key = torch.where(key == best[rows], -1, key)  # (k,)
    return torch.stack(drawn, dim=1)  # (n_rows, n_drawn)


def _mixed(values: Bits) -> Bits:
    """31-bit numbers scrambled to 31-bit numbers; no product leaves 63 bits."""
    for factor in (0x45D9F3B, 0x2C1B3C6D):
        values = ((values ^ (values >> 16)) * factor) & BITS_31
    return values ^ (values >> 16)
