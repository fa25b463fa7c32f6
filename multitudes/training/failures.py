"""What can go wrong while training, in words: a loss that is no number, memory that is short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from multitudes.errors import ResourceError, TrainingError
from multitudes.training.checkpoint import CURRENT, DIVERGED, Checkpoint
from multitudes.training.run import Position, Run


def where(run: Run[Any], position: Position | None = None) -> str:
    """A position as a person counts."""
    position = position or run.position
    return (
        f"epoch {position.epoch + 1} of {run.config.epochs}, "
        f"batch {position.batch} of {run.batches.per_epoch}"
    )


def diverged(
    run: Run[Any], bad: Mapping[str, float], position: Position, checkpoint: Checkpoint | None
) -> TrainingError:
    """The error for loss terms that are infinite or not a number."""
    terms = ", ".join(f"{name} = {value}" for name, value in bad.items())
    kept = ""
    if checkpoint is not None:
        kept = f"; the weights as they are now lie in {checkpoint.path / DIVERGED}"
        if checkpoint.exists():
            kept += f", the last good ones in {checkpoint.path / CURRENT}"
    advice = [f"lower learning_rate ({run.config.learning_rate:g})"]
    advice += ["set clip, e.g. clip=1.0"] if run.config.clip is None else []
    if run.accelerator.mixed_precision != "no":
        advice.append(f"use precision='float32' (now {run.accelerator.mixed_precision})")
    return TrainingError(
        f"training stopped at {where(run, position)}, where the loss was not a finite number: "
        f"{terms}{kept}. To go on: {'; '.join(advice)}"
    )


@contextmanager
def out_of_memory_named(run: Run[Any]) -> Iterator[None]:
    """Turn torch's out-of-memory errors into one that names the settings to lower."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise _too_large(run, error) from error
    except RuntimeError as error:  # the CPU's allocator has no class of its own
        if "can't allocate memory" not in str(error):
            raise
        raise _too_large(run, error) from error


def _too_large(run: Run[Any], error: RuntimeError) -> ResourceError:
    device = run.accelerator.device
    size = ""
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        size = f" ({total / 2**30:.0f} GiB, {torch.cuda.max_memory_allocated(device) / 2**30:.1f}"
        size += " GiB in use at the peak)"
    accumulate = 2 * run.config.accumulate
    return ResourceError(
        f"{device}{size} has too little memory for the training step at {where(run)}: lower "
        f"batch_size (accumulate={accumulate} with half of it keeps the optimiser's batch) or "
        f"max_length, or set gradient_checkpointing=True; torch says: {str(error).splitlines()[0]}"
    )
