"""Run as two processes by test_several_processes: trains, and writes what each one ended with."""

import contextlib
import os
import sys
from pathlib import Path

import torch
import torch.distributed

from multitudes.deep.training import Batches, Checkpoint, TrainingConfig, World, train

N_INSTANCES, BATCH, PER_EPOCH = 36, 4, 9


def fit(folder, stop_at=None):
    """A linear regression without randomness in the step, so that one process can check it."""
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 1)
    unused = torch.nn.Linear(2, 2)  # like a pooler that no loss needs
    model.unused = unused
    x = torch.randn(N_INSTANCES, 3)
    world, seen = World.join(torch.device("cpu")), []

    def draw(epoch, start):
        for i, rows in enumerate(torch.arange(N_INSTANCES).split(BATCH)):
            if i >= start:
                yield epoch, i, rows

    def step(batch):
        epoch, i, rows = batch
        seen.append((epoch, i))
        if stop_at is not None and (epoch, i) >= stop_at:
            raise ZeroDivisionError
        rows = rows[world.own(len(rows))]
        loss = (model(x[rows]) - x[rows].sum(1, keepdim=True)).square().mean()
        return {"loss": loss}

    history = train(
        model,
        Batches(draw, PER_EPOCH, N_INSTANCES),
        step,
        config=TrainingConfig(
            epochs=2, learning_rate=0.1, accumulate=2, device="cpu",
            checkpoint_minutes=0, log_every=1,
        ),
        validate=lambda: {"fit": float(-(model(x) - x.sum(1, keepdim=True)).square().mean())},
        checkpoint=Checkpoint(folder),
    )  # fmt: skip
    return model, seen, history


def main():
    folder = Path(sys.argv[1])
    with contextlib.suppress(ZeroDivisionError):
        fit(folder / "stopped", stop_at=(1, 4))
    for name in ("whole", "stopped"):
        model, seen, history = fit(folder / name)
        rank = torch.distributed.get_rank()
        report = [
            model.weight.tolist(), seen, history.epochs[-1].terms, history.epochs[-1].metrics
        ]  # fmt: skip
        (folder / f"{name}-{rank}.txt").write_text(repr(report))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
