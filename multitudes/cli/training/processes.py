"""Processes that torchrun or ``accelerate launch`` started to train one model: a GPU for each.

All of them read the same data and train together. The first one speaks and writes for all.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from multitudes import stopping
from multitudes.errors import ConfigError, DataError

RANK, SIZE = "RANK", "WORLD_SIZE"
FIRST_SPEAKS = 20.0  # seconds in which the first process has told what is wrong for all


@dataclass(frozen=True)
class Processes:
    """Which of how many processes this is; by default the only one.

    Parameters
    ----------
    rank : int
        Number of this process, from 0.
    size : int
        Processes.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def started(cls) -> Processes:
        """Read from the environment, where whoever started them wrote it."""
        rank, size = os.environ.get(RANK, "0"), os.environ.get(SIZE, "1")
        if not (rank.isdigit() and size.isdigit() and int(rank) < max(int(size), 1)):
            raise ConfigError(
                f"{SIZE} is {size!r} and {RANK} is {rank!r} in the environment, and they should "
                "say how many processes train together, and which this is: unset both, or start "
                "them with torchrun"
            )
        return cls(int(rank), max(int(size), 1))

    @property
    def is_first(self) -> bool:
        """Whether this process speaks and writes for all."""
        return self.rank == 0

    def check(self, model: object, refused: dict[str, bool]) -> None:
        """Refuse what several processes cannot do together.

        Parameters
        ----------
        model : str or estimator
            What is trained.
        refused : dict
            Whether options that one process alone can serve were given, by their names.
        """
        if self.size == 1:
            return
        from multitudes.models import model_spec

        told = f"{self.size} processes were started to train together ({SIZE})"
        if not isinstance(model, str) or model == "auto" or not model_spec(model).in_processes:
            name = model if isinstance(model, str) else type(model).__name__
            raise ConfigError(
                f"{told}, and {name} is trained by one: start a single process, or name a model "
                "that trains on GPUs, such as --model prime"
            )
        given = [option for option, is_given in refused.items() if is_given]
        if given:
            raise ConfigError(f"{told}, and {given[0]} is for one: leave it out")
        # Before torch is imported: each process would warn that weights may be without a gradient.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


@contextmanager
def silent() -> Iterator[None]:
    """Let the first process speak: a mistake of the user's, and a stop, happen to all alike.

    Whoever started them ends all when one has failed. So the first is given time to say why; who is
    still there afterwards is alone with the error, and tells it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield
            except (ConfigError, DataError):
                time.sleep(FIRST_SPEAKS)
                raise
    except KeyboardInterrupt:
        raise typer.Exit(stopping.exit_code()) from None
