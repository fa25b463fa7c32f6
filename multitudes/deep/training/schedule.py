"""The learning rate of a step: a plain function of where training stands, with no state to save."""

from __future__ import annotations

import math

from multitudes.deep.training.training_config import TrainingConfig

WARMUP_SHARE = 0.1  # of all steps, at most: short runs would otherwise never leave the warm-up


def learning_rate(config: TrainingConfig, step: int, steps_per_epoch: int) -> float:
    """The learning rate of optimizer step `step`, counted from 0 over all epochs."""
    n_steps = config.epochs * steps_per_epoch
    warmup = min(config.warmup_steps, int(WARMUP_SHARE * n_steps))
    if step < warmup:
        return config.learning_rate * (step + 1) / warmup
    done = (step - warmup) / max(n_steps - warmup, 1)
    if config.schedule == "linear":
        return config.learning_rate * max(1.0 - done, 0.0)
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "cosine-epochs":
        done = (step // steps_per_epoch) / config.epochs
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * min(done, 1.0)))
