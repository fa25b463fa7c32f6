"""How well labels are found that training never saw, and what that costs the others.

    python -m benchmarks.prime.unseen --data FOLDER --out RESULTS

A random tenth of the labels is taken out of training and added afterwards: by text alone, and with
one and five examples. Compared with the cosine of text embeddings, of the trained encoder and of
the one it started from. Trained twice: as in the paper, and with sources dropped from half of the
labels, which is what lets a prototype do without them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.prime.contestants import LITE, add_common, load, model_for, store
from benchmarks.prime.problem import Problem
from benchmarks.report import rows_of, show
from multitudes import progress
from multitudes.deep.devices import choose_device
from multitudes.deep.texts.tokens import TokenRows
from multitudes.encoder.backbone.embedding import embed
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.prime import Prime
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.metrics import evaluate

EXAMPLES = (1, 5)
DEEPEST = 100
COLUMNS = ("P@1", "P@5", f"R@{DEEPEST}")
DROPOUTS = (0.0, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_common(parser)
    parser.add_argument("--contestant", default=LITE)
    parser.add_argument("--part", type=float, default=0.1, help="of the labels, held out")
    parser.add_argument("--dropouts", type=float, nargs="+", default=list(DROPOUTS))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    problem = load(arguments)
    split = hold_out(problem, arguments.part, random_state=arguments.seed)
    results: dict[str, Any] = {"split": split.sizes(), "unseen": {}, "seen": {}, "seconds": {}}
    with progress.shown(arguments.verbose):
        for dropout in arguments.dropouts:
            name = f"source_dropout={dropout}"
            start = time.perf_counter()
            model = model_for(
                f"{arguments.contestant} prototypes.{name}", arguments, random_state=arguments.seed
            )
            one = measure(model, split, random_state=arguments.seed)
            results["seen"][name], results["unseen"][name] = one["seen"], one["unseen"]
            results["seconds"][name] = {"seconds": round(time.perf_counter() - start, 1)}
            print(f"{name}: {json.dumps(one)}")
            sys.stdout.flush()
            store(arguments, problem, rows_of(results))
    table(problem.name, results)
    print(json.dumps(results))


def measure(model: Prime, split: HoldOut, *, random_state: int) -> dict[str, Any]:
    """Train on the labels that are left, add the others, and look at both kinds."""
    seen, unseen = split.seen, split.unseen
    model.fit(seen.train, seen.Y, label_texts=seen.labels)
    queries = model.embed(seen.test)
    of_seen = ranked(queries, model.label_vectors_, seen)
    ways = {
        name: compared(queries, vectors, model, split)
        for name, vectors in added(model, split, random_state).items()
    }
    texts = embed(model.network_.backbone, unseen.labels, "Embedding labels")
    ways["text encoder, trained"] = ranked(queries, texts, unseen)
    first = load_backbone(model.backbone).to(choose_device(model.training.device))
    plain = [embed(first, rows, "Embedding") for rows in (seen.test, unseen.labels)]
    ways["text encoder, untrained"] = ranked(*plain, unseen)
    return {"seen": of_seen, "unseen": ways}


def added(model: Prime, split: HoldOut, random_state: int) -> dict[str, Any]:
    """Vectors (n_unseen, d) of the held-out labels, by what is known of them."""
    labels, ways = split.unseen.labels, {}
    for n in (0, *EXAMPLES):
        model.add_labels(labels, split.examples(n, random_state=random_state) if n else None)
        ways[f"PRIME, {n} examples"] = model.label_vectors_[-len(labels) :].copy()
    return ways


def compared(queries: Any, vectors: Any, model: Prime, split: HoldOut) -> dict[str, float]:
    """Among the unseen labels alone, and their recall among all labels."""
    seen, unseen = split.seen, split.unseen
    n_seen = len(seen.labels)
    none = sp.csr_array((len(queries), n_seen), dtype=np.float32)
    shifted = unseen.test_pairs + np.array([0, n_seen])
    both = dataclasses.replace(
        unseen,
        Y_test=sp.hstack([none, unseen.Y_test], format="csr"),
        test_pairs=np.concatenate([seen.test_pairs, shifted]),
    )
    everyone = np.concatenate([model.label_vectors_[:n_seen], vectors])
    deepest = f"R@{DEEPEST}"
    among_all = ranked(queries, everyone, both)[deepest]
    return ranked(queries, vectors, unseen) | {f"{deepest} among all": among_all}


def ranked(queries: Any, vectors: Any, problem: Problem) -> dict[str, float]:
    """P and R in percent over test instances that have one of the labels; pairs filtered."""
    Y_test, pairs = problem.Y_test, problem.test_pairs
    rows = np.flatnonzero(np.diff(Y_test.indptr))
    place = np.full(len(queries), -1)
    place[rows] = np.arange(len(rows))
    pairs = np.stack([place[pairs[:, 0]], pairs[:, 1]], axis=1)
    found = PrototypeIndex(vectors).search(
        queries[rows], top_k=DEEPEST, filter_pairs=pairs[pairs[:, 0] >= 0]
    )
    report = evaluate(found, Y_test[rows], ks=(1, 5, DEEPEST))
    return {name: round(100 * report[name], 2) for name in COLUMNS}


def table(name: str, results: dict[str, Any]) -> None:
    rows = []
    for setting, ways in results["unseen"].items():
        rows += [
            [f"{setting}: {way}", *(f"{v[c]:.2f}" for c in COLUMNS)] for way, v in ways.items()
        ]
        seen = results["seen"][setting]
        rows.append([f"{setting}: seen labels", *(f"{seen[c]:.2f}" for c in COLUMNS)])
    show(f"{name}, labels never seen", ["", *COLUMNS], rows)


@dataclass(frozen=True)
class HoldOut:
    """A problem without some labels, and the same problem with these labels alone.

    Parameters
    ----------
    seen : Problem
        All test instances; training instances that still have a label.
    unseen : Problem
        All instances of both splits; the labels that were taken out.
    """

    seen: Problem
    unseen: Problem

    def examples(self, n: int, *, random_state: int) -> list[TokenRows]:
        """Up to `n` training texts of each unseen label; with a larger `n` there are others too."""
        rng = np.random.default_rng(random_state)
        by_label = self.unseen.Y.tocsc()
        drawn = []
        for start, end in zip(by_label.indptr[:-1], by_label.indptr[1:], strict=True):
            rows = rng.permutation(by_label.indices[start:end])[:n]
            drawn.append(self.unseen.train.take(rows.astype(np.int64)))
        return drawn

    def sizes(self) -> dict[str, int]:
        """Labels and instances of both kinds."""
        n_instances = np.bincount(self.unseen.Y.indices, minlength=len(self.unseen.labels))
        return {
            "seen labels": len(self.seen.labels),
            "unseen labels": len(self.unseen.labels),
            "unseen labels without examples": int(np.count_nonzero(n_instances == 0)),
            "training instances": len(self.seen.train),
            "test instances with an unseen label": int(
                np.count_nonzero(np.diff(self.unseen.Y_test.indptr))
            ),
        }


def hold_out(problem: Problem, part: float, *, random_state: int) -> HoldOut:
    """Take a random part of the labels out; training instances left without a label go too."""
    order = np.random.default_rng(random_state).permutation(len(problem.labels))
    n_unseen = max(1, round(part * len(order)))
    seen = with_labels(problem, np.sort(order[n_unseen:]))
    rows = np.flatnonzero(np.diff(seen.Y.indptr))
    seen = dataclasses.replace(seen, train=seen.train.take(rows), Y=seen.Y[rows])
    return HoldOut(seen, with_labels(problem, np.sort(order[:n_unseen])))


def with_labels(problem: Problem, kept: np.ndarray) -> Problem:
    """The problem with some of its labels, which get new numbers; training pairs are left out."""
    number = np.full(len(problem.labels), -1)
    number[kept] = np.arange(len(kept))
    pairs = problem.test_pairs
    pairs = np.stack([pairs[:, 0], number[pairs[:, 1]]], axis=1)
    return dataclasses.replace(
        problem,
        labels=problem.labels.take(kept),
        Y=problem.Y[:, kept],
        Y_test=problem.Y_test[:, kept],
        pairs=problem.pairs[:0],
        test_pairs=pairs[pairs[:, 1] >= 0],
    )


if __name__ == "__main__":
    main()
