"""What can go wrong while training, in words: a loss that is no number, memory that is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from multitudes.deep.training.checkpoint import CURRENT, DIVERGED, Checkpoint
from multitudes.deep.training.device import choose_device
from multitudes.deep.training.run import Position, Run
from multitudes.deep.training.training_config import TrainingConfig
from multitudes.errors import ResourceError, TrainingError


def where(run: Run[Any], position: Position | None = None) -> str:
    """A position as a person counts."""
    position = position or run.position
    if position.epoch > 0 and position.batch == 0:
        return f"the end of epoch {position.epoch} of {run.config.epochs}"
    return (
        f"epoch {position.epoch + 1} of {run.config.epochs}, "
        f"batch {position.batch} of {run.batches.per_epoch}"
    )


def diverged(
    run: Run[Any], bad: Mapping[str, float], position: Position, checkpoint: Checkpoint | None
) -> TrainingError:
    """The error for loss terms or weights that are infinite or not a number."""
    terms = ", ".join(f"{name} = {value}" for name, value in bad.items())
    kept = ""
    if checkpoint is not None:
        kept = f"; the weights as they are now lie in {checkpoint.path / DIVERGED}"
        if checkpoint.exists():
            kept += f", the last good ones in {checkpoint.path / CURRENT}"
    advice = [f"a learning_rate below {run.config.learning_rate:g}"]
    advice += ["a limit on the gradient, e.g. clip=1.0"] if run.config.clip is None else []
    if run.accelerator.mixed_precision != "no":
        advice.append(f"precision='float32' instead of {run.accelerator.mixed_precision!r}")
    return TrainingError(
        f"training stopped at {where(run, position)}, because a number was not finite: {terms}"
        f"{kept}; begin again with {' or '.join(advice)}"
    )


@contextmanager
def out_of_memory_named(config: TrainingConfig, place: Callable[[], str]) -> Iterator[None]:
    """Turn torch's out-of-memory errors into one that says where, and which settings to lower."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise _too_large(config, place(), error) from error
    except RuntimeError as error:  # the CPU's allocator has no class of its own
        if "can't allocate memory" not in str(error):
            raise
        raise _too_large(config, place(), error) from error


def _too_large(config: TrainingConfig, place: str, error: RuntimeError) -> ResourceError:
    device, size = choose_device(config.device), ""
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        size = f" ({total / 2**30:.0f} GiB, {torch.cuda.max_memory_allocated(device) / 2**30:.1f}"
        size += " GiB in use at the peak)"
    return ResourceError(
        f"{device}{size} has too little memory for training (at {place}): lower batch_size "
        f"(accumulate={2 * config.accumulate} with half of it makes steps of as many instances) or "
        f"max_length, or set gradient_checkpointing=True; torch says: {str(error).splitlines()[0]}"
    )
