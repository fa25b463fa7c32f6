"""Where tree models meet: the same data, the same settings, turns in fresh processes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.trees.trials import OURS, trial
from multitudes.metrics import evaluate
from multitudes.types import Predictions

KS = (1, 3, 5)
OVERLAP = "overlap"
Answers = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Tree:
    """The shape of a tree, and how our scores join along its paths."""

    branching: int
    max_leaf_size: int = 100
    score: str = "l3-hinge"


XR_LINEAR = Tree(branching=16)
# omikuji's score of a squared-hinge ranker is exp(-max(0, 1 - v)^2).
PARABEL = Tree(branching=2, score="l2-hinge")


@dataclass(frozen=True)
class Arena:
    """The exported data, and how often everything is run.

    Parameters
    ----------
    folder : path
        Holds the files of `benchmarks.trees.data.export`; models are kept in it as well.
    n_jobs : int
    rounds : int
        Timed runs of each contestant.
    seeds : int
        Seeds over which precision is averaged; round i uses seed i modulo this.
    """

    folder: Path
    n_jobs: int
    rounds: int
    seeds: int

    def train(self, contestants: Sequence[str], tree: Tree) -> Answers:
        """Let all train in turns, once for each round and for each seed at least."""
        answers: Answers = {who: [] for who in contestants}
        for turn in range(max(self.rounds, self.seeds)):
            for who in contestants:
                answers[who].append(self.train_once(who, tree, turn % self.seeds))
        return answers

    def train_once(
        self, who: str, tree: Tree, random_state: int, *, weights: str = "float16"
    ) -> dict[str, Any]:
        """One training, with the precision of the model it made.

        `weights` is how our model keeps them; peers know float32 alone. `OVERLAP` is our model with
        labels in up to two leaves.
        """
        model, labels = self.model_of(who), self.folder / "labels.npy"
        shutil.rmtree(model, ignore_errors=True)
        order = {
            "folder": str(self.folder),
            "model": str(model),
            "labels": str(labels),
            "branching": tree.branching,
            "max_leaf_size": tree.max_leaf_size,
            "score": tree.score,
            "weights": weights,
            "overlap": 2 if who == OVERLAP else 1,
            "random_state": random_state,
            "n_jobs": self.n_jobs,
        }
        answer = trial(OURS if who == OVERLAP else who, "train", order)
        return {
            **answer,
            "random_state": random_state,
            "p": precisions(labels, self.folder / "Y_test.npz"),
        }

    def predict(self, contestants: Sequence[str], *, n_online: int, repeats: int = 3) -> Answers:
        """Let all predict in turns with the models they trained last."""
        answers: Answers = {who: [] for who in contestants}
        for _ in range(self.rounds):
            for who in contestants:
                answers[who].append(self.predict_once(who, n_online=n_online, repeats=repeats))
        return answers

    def predict_once(self, who: str, *, n_online: int, repeats: int) -> dict[str, Any]:
        """One prediction of all test instances, repeated, and of single ones."""
        order = {
            "folder": str(self.folder),
            "model": str(self.model_of(who)),
            "n_jobs": self.n_jobs,
            "n_online": n_online,
            "repeats": repeats,
        }
        return trial(OURS if who == OVERLAP else who, "predict", order)

    def model_of(self, who: str) -> Path:
        """Where a contestant saves its model."""
        return self.folder / f"model-{who}"


def precisions(labels: Path, truth: Path) -> list[float]:
    """P@1, P@3 and P@5 in percent, of saved label ids (n, 5) against a saved Y."""
    found = np.load(labels)
    Y = sp.csr_array(sp.load_npz(truth))
    ranks = np.broadcast_to(-np.arange(found.shape[1], dtype=np.float32), found.shape)
    scores = np.where(found >= 0, ranks, -np.inf).astype(np.float32)
    report = evaluate(Predictions(found, scores, Y.shape[1]), Y, ks=KS)
    return [100 * report[f"P@{k}"] for k in KS]
