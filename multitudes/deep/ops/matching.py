"""Exact matching of targets to steps: on the host by numba, or on CUDA where the batch is.

In the kernel one program matches one instance by the algorithm of `multitudes.kernels.matching`,
with the same arithmetic and so the same ties: prices, distances and chains are vectors in
registers, a lane for each step. Nothing is copied to the host, so that nobody waits for the device,
and a whole training step can be captured as a graph.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton
from multitudes.kernels.matching import match_targets
from multitudes.kernels.threads import ThreadTeam

INSTANCES_AT_ONCE = 64
"""Instances a thread solves in one call; smaller batches are not worth a second thread."""

MAX_STEPS_ON_DEVICE = 256
"""Steps up to which the kernel keeps all it needs in registers."""


def matches_on_device(device: torch.device, n_steps: int) -> bool:
    """Whether batches of a device are matched there, without a look at values."""
    return n_steps <= MAX_STEPS_ON_DEVICE and runs_kernel("matching", device)


def match_on_host(
    gain: npt.NDArray[np.float32],
    n_targets: npt.NDArray[np.int64],
    *,
    first_only: bool,
    team: ThreadTeam,
) -> npt.NDArray[np.int64]:
    """The plain form: the step (b, m) of each target from gains (b, m, N); see `match_on_device`.

    A target's gains are side by side here.
    """
    steps = np.empty(gain.shape[:2], np.int64)

    def solve_from(start: int) -> None:
        part = slice(start, start + INSTANCES_AT_ONCE)
        match_targets(gain[part], n_targets[part], first_only, steps[part])

    team.map(solve_from, range(0, len(gain), INSTANCES_AT_ONCE))
    return steps


def match_on_device(gain: Tensor, n_targets: Tensor, *, first_only: bool) -> Tensor:
    """The step of each target, on the device of `gain`.

    Parameters
    ----------
    gain : float32 tensor (b, N, m)
        Of each target at each step; N a few hundred at most: vectors (N,) are in registers.
    n_targets : int64 tensor (b,)
        Targets of each instance, which come first among the columns; from 0 to m <= N.
    first_only : bool
        Use as many first steps as an instance has targets, not all.

    Returns
    -------
    int64 tensor (b, m)
        -1 behind an instance's targets.
    """
    n, n_steps, width = gain.shape
    steps = torch.empty((n, width), dtype=torch.int64, device=gain.device)  # (b, m)
    if steps.numel():
        _match_kernel[(n,)](
            gain.contiguous(),
            n_targets,
            steps,
            n_steps,
            width,
            FIRST_ONLY=first_only,
            STEPS=max(2, triton.next_power_of_2(n_steps)),
            TARGETS=max(2, triton.next_power_of_2(width)),
            num_warps=1,
        )
    return steps


# -------------------------------------------------------------------- kernel


@jit()
def _at(vector, lanes, lane):
    """One element of a vector."""
    return tl.sum(tl.where(lanes == lane, vector, 0), 0)


@jit()
def _match_kernel(
    gain,  # IN float32 (b, N, m)
    n_targets,  # IN int64 (b,)
    steps,  # OUT int64 (b, m)
    n_steps,
    width,
    FIRST_ONLY: tl.constexpr,
    STEPS: tl.constexpr,
    TARGETS: tl.constexpr,
):
    instance = tl.program_id(0).to(tl.int64)
    lane, row = tl.arange(0, STEPS), tl.arange(0, TARGETS)
    n = tl.load(n_targets + instance).to(tl.int32)
    inside = lane < (n if FIRST_ONLY else n_steps)
    holder = tl.full((STEPS,), -1, tl.int32)
    step_price = tl.zeros((STEPS,), tl.float64)
    target_price = tl.zeros((TARGETS,), tl.float64)
    for t in range(0, n):
        distance = tl.full((STEPS,), float("inf"), tl.float64)
        before = tl.full((STEPS,), -1, tl.int32)
        is_open = inside
        moved = row < 0
        mover, last, at = t, t * 0 - 1, t * 0
        searching = t >= 0
        while searching:
            moved = moved | (row == mover)
            where = gain + (instance * n_steps + lane) * width + mover
            value = tl.load(where, mask=inside, other=0.0)
            # NaN and infinity count as 0: with them a search might never end.
            value = tl.where(tl.abs(value) < float("inf"), value, 0.0).to(tl.float64)
            cost = -value - _at(target_price, row, mover) - step_price
            nearer = is_open & (cost < distance)
            distance = tl.where(nearer, cost, distance)
            before = tl.where(nearer, last, before)
            reachable = tl.where(is_open, distance, float("inf"))
            at = tl.argmin(reachable, 0)
            length = tl.min(reachable, 0)
            target_price = tl.where(moved, target_price + length, target_price)
            step_price = tl.where(inside & (is_open == 0), step_price - length, step_price)
            distance = tl.where(is_open, distance - length, distance)
            held_by = _at(holder, lane, at)
            searching = held_by >= 0
            is_open = is_open & ((lane != at) | (held_by < 0))
            last = at
            mover = held_by
        previous = _at(before, lane, at)
        while previous >= 0:
            holder = tl.where(lane == at, _at(holder, lane, previous), holder)
            at = previous
            previous = _at(before, lane, at)
        holder = tl.where(lane == at, t, holder)
    out = steps + instance * width
    absent = (row >= n) & (row < width)
    tl.store(out + row, tl.full((TARGETS,), -1, tl.int64), mask=absent)
    tl.store(out + holder, lane.to(tl.int64), mask=inside & (holder >= 0))
