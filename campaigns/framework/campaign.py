"""What a campaign says about itself; the rest is done by the framework."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns.framework.outcomes import Outcome

GIB = 1 << 30


@dataclass(frozen=True)
class Case:
    """One input: what it is given to, and what is given.

    Parameters
    ----------
    target
        The reader, model or callable that is tried.
    content
        The input as bytes, so that it can be stored, run again and reduced.
    """

    target: str
    content: bytes = b""


class Campaign:
    """A promise and a way to draw cases against it; subclass it and hand it to `main`.

    A case is drawn and run in a child process that may die; all that it leaves is its outcome. A
    case that returns has `answered` (or returns an `Outcome` of its own); one that raises an error
    of ours was `refused`; raise `SilentChange`, `Nameless` or `Skipped` for these outcomes.

    Attributes
    ----------
    name
        As in ``python -m campaigns.<name>``.
    targets
        All that is tried. The same on every machine: a case is skipped if a package is missing.
    weights
        How often each target is tried, compared with others; None for alike.
    time_limit
        Seconds a case may take; a case that takes longer hangs.
    memory_bound
        Bytes a case may add to the memory of its process.
    address_space
        Bytes that a child may ask for beyond what it has at its start; None for no limit.
    batch
        Cases that one child runs, one after the other.
    reducible
        Whether a part of a case's content is a case too, so that findings can be reduced.
    reduce_seconds
        Time for reducing one finding.
    pinned
        Whether a worker stays on one core; then the library takes one thread.
    default_cases
        How many cases run without ``--cases``.
    """

    name: str = "campaign"
    targets: Sequence[str] = ("all",)
    weights: Sequence[float] | None = None
    time_limit: float = 10.0
    memory_bound: int = GIB
    address_space: int | None = 4 * GIB
    batch: int = 500
    reducible: bool = True
    reduce_seconds: float = 8.0
    pinned: bool = True
    default_cases: int = 10_000

    def prepare(self, folder: Path) -> None:
        """Make what all workers need, e.g. corpora and fitted models, in `folder`; runs once."""

    def enter(self, folder: Path) -> None:
        """Read what was prepared; runs once per worker, which then forks its children.

        What is imported here need not be imported by each child. Start no threads that stay.
        """

    def unavailable(self) -> Mapping[str, str]:
        """Return targets that cannot run on this machine, and why."""
        return {}

    def draw(self, rng: random.Random, target: str) -> Case:
        """Return a case for a target; all randomness comes from `rng`."""
        return Case(target, rng.randbytes(16))

    def run(self, case: Case) -> Outcome | None:
        """Run a case: return, raise, hang or crash."""
        raise NotImplementedError

    def describe(self, case: Case) -> str:
        """Return a case in words, for ``--case`` and for findings."""
        return f"{case.target}: {len(case.content)} bytes {case.content[:200]!r}"

    def suffix(self, target: str) -> str:
        """Return the suffix under which a finding of a target is stored."""
        return ".bin"
