"""Settings of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from multitudes.config import Config, among, between, setting
from multitudes.errors import ConfigError


def stored_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a stored model without the folder that its training wrote to.

    A model that was loaded must not write where its file says.
    """
    training = {name: value for name, value in config["training"].items() if name != "tensorboard"}
    return {**config, "training": training}


@dataclass(frozen=True)
class TrainingConfig(Config):
    """How a torch model is trained; AdamW throughout."""

    epochs: int = setting(
        20, "Passes over the training instances.", at_least=1, search=between(5, 60, log=True)
    )
    learning_rate: float = setting(
        3e-4,
        "Largest learning rate of the schedule.",
        above=0,
        search=between(3e-5, 3e-3, log=True),
    )
    weight_decay: float = setting(
        0.01,
        "Decay of the weights, except biases, norms and what the model exempts.",
        at_least=0,
        search=among(0.0, 0.01, 0.1),
    )
    warmup_steps: int = setting(
        100,
        "Optimizer steps over which the learning rate rises; a tenth of all steps at most.",
        at_least=0,
    )
    schedule: str = setting(
        "linear",
        "How the learning rate falls: in a line to 0, along a cosine (by step or epoch), or never.",
        choices=("linear", "cosine", "cosine-epochs", "constant"),
    )
    precision: str = setting(
        "auto",
        "Number format of the heavy work; auto: bf16 on a GPU that has it, fp16 on an older one.",
        choices=("auto", "float32", "bf16", "fp16"),
    )
    accumulate: int = setting(1, "Batches whose gradients make one optimizer step.", at_least=1)
    clip: float | None = setting(None, "Largest norm of the gradient; None for no limit.", above=0)
    compile: bool = setting(False, "Compile the training step with torch.compile.")
    evaluate_every: int = setting(1, "Epochs between two validations.", at_least=1)
    monitor: str | None = setting(
        None, "Validation metric that tells the best epoch (higher is better); None: the first."
    )
    patience: int | None = setting(
        None, "Stop after this many validations without a better one; None: never.", at_least=1
    )
    restore_best: bool = setting(True, "End with the weights of the best validated epoch.")
    checkpoint_minutes: float = setting(
        10.0, "Minutes between checkpoints; they need a folder.", at_least=0
    )
    log_every: int = setting(
        50, "Batches between two reads of the loss; each waits for the device.", at_least=1
    )
    tensorboard: str | None = setting(None, "Folder for TensorBoard's event files.")
    device: str = setting(
        "auto",
        "Where to train; auto: the GPU if there is one.",
        choices=("auto", "cpu", "cuda", "mps"),
    )
    random_state: int = setting(0, "Same seed, same result (on a CPU, bit for bit).", at_least=0)

    def with_random_state(self, random_state: int) -> Self:
        """The same with the seed of the model that is trained; a different one here is refused."""
        if self.random_state not in (0, random_state):
            raise ConfigError(
                f"training.random_state is {self.random_state}, but the model's own is "
                f"{random_state}, which applies to its training too: set "
                f"random_state={self.random_state} of the model, and leave out that of its training"
            )
        return replace(self, random_state=random_state)
