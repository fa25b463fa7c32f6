"""What is said before a training: what it learns from, which model was taken and why, and where."""

from __future__ import annotations

import numpy as np

from multitudes.errors import counted
from multitudes.kernels.threads import resolve_threads
from multitudes.progress import is_shown, say
from multitudes.tagger.assembly import Assembled, reads_texts
from multitudes.tagger.training import TrainingData


def announce(parts: Assembled, data: TrainingData) -> None:
    """Tell whoever watches what is about to happen.

    A network says itself which encoder it has, on which device it is, and how long it will take.
    """
    if not is_shown():
        return
    say(f"learning from {described(data)}")
    say(f"model: {parts.choice}")
    if not reads_texts(parts.model):
        say(f"device: CPU, {counted(resolve_threads(data.n_jobs), 'thread')}")


def described(data: TrainingData) -> str:
    """Return the size of the training data in words."""
    dataset = data.dataset
    instance = "text" if dataset.texts is not None else "instance"
    words = f"{counted(len(dataset), instance)}, {counted(dataset.n_labels, 'label')}"
    if data.grouped is not None:
        return f"{words}, {counted(data.grouped[0].shape[1], 'group')}"
    words += f", {dataset.Y.nnz / max(len(dataset), 1):.1f} per {instance}"
    counts = np.bincount(dataset.Y.indices, minlength=dataset.n_labels)
    n_without = int((counts == 0).sum())
    return f"{words} ({n_without:,} labels have no {instance})" if n_without else words
