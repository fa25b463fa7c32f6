"""Matching the targets of a batch to decoding steps, without keeping the device waiting.

On CUDA a Triton kernel does it where the batch is, and nothing waits. Where that is missing, the
probabilities of the targets alone, (targets, steps) for each instance, are copied to the host; a
thread solves them when they have arrived; and only who asks for the result waits. Between
`Matcher.start` and `Pending.steps` the caller gives the device other work.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from multitudes.deep.ops.matching import match_on_device, match_on_host, matches_on_device
from multitudes.errors import ConfigError, DataError
from multitudes.kernels.threads import ThreadTeam
from multitudes.seq2set.losses.assignment_schemes import ALL, FIRST_N, SCHEMES

Steps = npt.NDArray[np.int64]


class Pending:
    """A matching under way.

    Parameters
    ----------
    found : int64 tensor (b, m), or Future of an int64 array (b, m)
    device : torch.device
        Where the result is wanted.
    """

    def __init__(self, found: Tensor | Future[Steps], device: torch.device) -> None:
        self._found = found
        self._device = device

    def steps(self) -> Tensor:
        """The step of each target, int64 (b, m), -1 where there is none; waits for a thread."""
        if isinstance(self._found, Tensor):
            return self._found
        steps = torch.from_numpy(self._found.result())  # (b, m)
        return steps.pin_memory().to(self._device, non_blocking=True)


class Matcher:
    """Matches targets to steps so that the sum of their probabilities is largest (Eq. 11 and 12).

    Use it as a context manager, or call `close`, where it does not live as long as the process.

    Parameters
    ----------
    scheme : str
        "all": any of the steps. "first-n": the first n, for an instance with n targets.
    n_jobs : int, optional
        Threads of the CPU for batches of more than 64 instances; None for all.
    on_host : bool
        Match on the CPU even where the device could.
    """

    def __init__(
        self, scheme: str = ALL, *, n_jobs: int | None = None, on_host: bool = False
    ) -> None:
        if scheme not in SCHEMES:
            raise ConfigError(
                f"scheme must be one of {list(SCHEMES)}, got {scheme!r}: choose_scheme "
                "settles 'auto' from the training instances"
            )
        self.scheme, self.on_host = scheme, on_host
        self._team = ThreadTeam(n_jobs)
        self._waiting: ThreadPoolExecutor | None = None

    def start(self, probabilities: Tensor, n_targets: Tensor) -> Pending:
        """Begin to match a batch; does not wait for the device.

        Parameters
        ----------
        probabilities : float tensor (b, N, m)
            Of each target at each step; no gradient flows through a matching.
        n_targets : int64 tensor (b,)
            Targets of each instance, which come first among the columns; from 0 to m.
        """
        n_steps, width = probabilities.shape[1:]
        check_room(width, n_steps)
        gain = probabilities.detach().to(torch.float32)  # (b, N, m)
        if self.stays_on(gain, n_steps):
            first_only = self.scheme == FIRST_N
            return Pending(match_on_device(gain, n_targets, first_only=first_only), gain.device)
        # No first-n matching uses a step behind the width: it does not leave the device.
        used = gain[:, :width] if self.scheme == FIRST_N else gain
        used = used.transpose(1, 2).contiguous()  # (b, m, N or m)
        if gain.device.type != "cuda":
            steps = torch.from_numpy(self.solve(used.cpu().numpy(), n_targets.cpu().numpy()))
            return Pending(steps.to(gain.device), gain.device)
        return Pending(self._solve_later(used, n_targets), gain.device)

    def stays_on(self, like: Tensor, n_steps: int) -> bool:
        """Whether batches on the device of `like` are matched there, without a look at values."""
        return not self.on_host and matches_on_device(like.device, n_steps)

    def _solve_later(self, gain: Tensor, n_targets: Tensor) -> Future[Steps]:
        """Solve gains (b, m, N) in a thread once they are copied from the device."""
        host_gain = gain.to("cpu", non_blocking=True)  # (b, m, N), pinned
        host_targets = n_targets.to("cpu", non_blocking=True)  # (b,)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record(torch.cuda.current_stream(gain.device))

        def solve() -> Steps:
            arrived.synchronize()
            return self.solve(host_gain.numpy(), host_targets.numpy())

        return self._thread().submit(solve)

    def solve(self, gain: npt.NDArray[np.float32], n_targets: Steps) -> Steps:
        """The step (b, m) of each target from gains (b, m, N); -1 behind an instance's targets."""
        first_only = self.scheme == FIRST_N
        return match_on_host(gain, n_targets, first_only=first_only, team=self._team)

    def close(self) -> None:
        """End the threads."""
        self._team.__exit__()
        if self._waiting is not None:
            self._waiting.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _thread(self) -> ThreadPoolExecutor:
        """The thread that waits for the device."""
        if self._waiting is None:
            self._waiting = ThreadPoolExecutor(1, thread_name_prefix="matching")
        return self._waiting


def check_room(n_targets: int, n_steps: int) -> None:
    """Raise where an instance may have more targets than there are steps."""
    if n_targets > n_steps:
        raise DataError(
            f"up to {n_targets} targets cannot be matched to {n_steps} steps, one each: decode "
            f"{n_targets} steps, or keep {n_steps} labels per instance at most"
        )
