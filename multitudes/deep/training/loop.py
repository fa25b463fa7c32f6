"""train: the one loop that all torch models share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from torch import nn

from multitudes.deep.devices import describe_device, tensor_core_products
from multitudes.deep.memory import explain_out_of_memory
from multitudes.deep.training.batches import B, Batches
from multitudes.deep.training.checkpoint import Checkpoint
from multitudes.deep.training.config import TrainingConfig
from multitudes.deep.training.forecast import Forecast, Outlook
from multitudes.deep.training.history import LOSS, History
from multitudes.deep.training.optimizer import clip_gradients, set_learning_rate
from multitudes.deep.training.process import deferred_interrupt, seeded
from multitudes.deep.training.run import Run, Stateful
from multitudes.deep.training.supervisor import Supervisor, place_of, tensorboard_curves
from multitudes.progress import say, track
from multitudes.store.folder import writing


def train(
    model: nn.Module,
    batches: Batches[B],
    step: Callable[[B], Mapping[str, torch.Tensor]],
    *,
    config: TrainingConfig,
    validate: Callable[[], Mapping[str, float]] | None = None,
    stateful: Mapping[str, Stateful] | None = None,
    checkpoint: Checkpoint | None = None,
    outlook: Outlook = Outlook(),
) -> History:
    """Train a model in place.

    Parameters
    ----------
    model : Module
        Its parameters that require a gradient are trained. It is moved to the device before the
        first step, and left there in evaluation mode. An attribute `no_decay` may name parameters
        and sub-modules that weight decay leaves alone; `complete_gradients`, parameters whose
        gradient is that of the whole batch in every process.
    batches : Batches
    step : function of a batch -> dict of () tensors
        The loss terms of a batch, computed with `model`. The term "loss" is what is minimized;
        the others are shown with it. It must not read values back from the device. Of several
        processes each is given every batch; the mean of their terms counts, and of their gradients.
    config : TrainingConfig
    validate : function -> dict of float, optional
        Metrics, higher being better, with the model in evaluation mode and no gradients. Called
        after every `evaluate_every` epochs and after the last; by all processes, of which the
        first one's metrics count.
    stateful : mapping of name to Stateful, optional
        What else changes while training. It is saved, resumed and restored with the weights.
    checkpoint : Checkpoint, optional
        Where to save. A run that is found there is resumed, and ends as if it had never stopped:
        on a CPU with the same weights, bit for bit. It stays there until `checkpoint.clear()`.
    outlook : Outlook, optional
        What is known about the time it will take; a person who watches is told.

    Raises
    ------
    TrainingError
        If a loss term is infinite or not a number.
    ResourceError
        If the device has too little memory.
    ConfigError
        If `checkpoint` holds a run with other settings or data.
    StoreError
        If another process trains with the same checkpoint; it is named.
    KeyboardInterrupt
        On Ctrl-C, after a checkpoint was written.
    """
    if config.patience is not None and validate is None:
        warnings.warn(
            f"patience={config.patience} does nothing without validation data: keep some instances "
            "aside for it, or leave patience out",
            stacklevel=2,
        )
    with _memory_explained(config, lambda: "the start"):
        run = Run(model, batches, step, config=config, stateful=stateful or {})
    checkpoint = None if checkpoint is None else run.checkpoint_of(checkpoint)
    accelerator = run.accelerator
    mixed = accelerator.device.type == "cuda" and accelerator.mixed_precision != "no"
    with (
        tensor_core_products(mixed),
        seeded(config.random_state + accelerator.process_index),
        _memory_explained(config, lambda: place_of(run)),
        _held(checkpoint if accelerator.is_main_process else None),
        deferred_interrupt(enabled=checkpoint is not None) as interrupt,
        tensorboard_curves(config.tensorboard if accelerator.is_main_process else None) as curves,
    ):
        found = None if checkpoint is None else checkpoint.read()
        if found is not None:
            run.load(found)
        _announce(run, checkpoint, resumed=found is not None)
        with track("training", run.config.epochs, "epochs") as task:
            task.resume_at(run.n_epochs_done)
            forecast = Forecast(run, outlook, saved=checkpoint is not None)
            forecast.try_out()
            supervisor = Supervisor(
                run, checkpoint=checkpoint, interrupt=interrupt, task=task, curves=curves,
                forecast=forecast,
            )  # fmt: skip
            while not run.is_over:
                _train_epoch(run, supervisor)
                metrics = _validate(run, validate)
                run.end_epoch(metrics)
                supervisor.end_epoch(metrics)
        run.restore_best()
    model.eval()
    return run.history


def _held(checkpoint: Checkpoint | None) -> AbstractContextManager[None]:
    """Hold the folder of a checkpoint: a second run that wants to save there is refused."""
    return nullcontext() if checkpoint is None else writing(checkpoint.path)


def _announce(run: Run[Any], checkpoint: Checkpoint | None, *, resumed: bool) -> None:
    """Say where and how much is trained, and from where a run goes on."""
    if resumed and checkpoint is not None:
        where = "a training that is over" if run.is_over else place_of(run)
        say(f"going on from {where}, as saved in {checkpoint.path}")
    if not run.is_over:
        device, n_instances = run.accelerator.device, run.batches.n_instances
        epochs = f"{run.config.epochs} epochs of {n_instances:,} instances"
        say(f"training on {describe_device(device)}: {epochs}")


def _train_epoch(run: Run[B], supervisor: Supervisor) -> None:
    """The rest of one epoch: all of it, unless the run was resumed in its middle."""
    accelerator, optimizer, clip = run.accelerator, run.optimizer, run.config.clip
    tables = [rows.table for rows in getattr(run.model, "sparse_rows", ())]
    parameters = list(dict.fromkeys([*run.model.parameters(), *tables]))
    run.model.train()
    supervisor.resume_clock()
    for window in run.windows():
        run.record.learning_rate = run.learning_rate()
        set_learning_rate(optimizer, run.record.learning_rate)
        for i, batch in enumerate(window):
            is_last = i + 1 == len(window)
            # Processes share gradients at the last batch of a window alone.
            with nullcontext() if is_last else accelerator.no_sync(run.forward):
                terms = run.forward(batch)  # dict of () tensors
                supervisor.terms.add(terms)
                accelerator.backward(terms[LOSS] / len(window))
        if clip is not None:
            accelerator.unscale_gradients()
            clip_gradients(parameters, clip)
        optimizer.step()
        optimizer.zero_grad()
        run.position.batch += len(window)
        if supervisor.is_due():
            supervisor.check()
    supervisor.check()


def _validate(
    run: Run[Any], validate: Callable[[], Mapping[str, float]] | None
) -> Mapping[str, float]:
    """Metrics of this epoch, the same in all processes; empty if it is not to be validated."""
    number = run.position.epoch + 1
    is_due = number % run.config.evaluate_every == 0 or number == run.config.epochs
    if validate is None or not is_due:
        return {}
    run.model.eval()
    with torch.no_grad(), run.accelerator.autocast():
        metrics = [validate()]
    if run.n_processes > 1:
        broadcast_object_list(metrics)
    return metrics[0]


def _memory_explained(
    config: TrainingConfig, place: Callable[[], str]
) -> AbstractContextManager[None]:
    """Explain too little memory by naming the settings of a training that save it."""
    halved = (
        f"batch_size (accumulate={2 * config.accumulate} with half of it keeps the step's size)"
    )
    return explain_out_of_memory(
        lower=(halved, "max_length"),
        enable=("gradient_checkpointing=True",),
        during=lambda: f"training (at {place()})",
    )
