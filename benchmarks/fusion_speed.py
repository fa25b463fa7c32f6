"""How fast are ranked lists fused? 100,000 texts at once, and one text behind its members.

In batches, lists of three members with 50 candidates each are drawn at random, half of them common
to all. For single texts a fused tagger of linear models is timed beside its members, which take
turns with it in one process. On a busy machine the CPU time says more than the clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.report import Rounds, finish, rows_of, show_rows, together
from benchmarks.timing import stopwatch
from multitudes import Dataset, Ensemble, Predictions, Tagger
from multitudes.fusion import CalibratedFusion, Fusion, LearnedFusion, RankFusion

N_MEMBERS, WIDTH = 3, 50
WORDS_PER_TEXT = 10


def random_lists(n: int, n_labels: int, rng: np.random.Generator) -> list[Predictions]:
    """Lists of three members: every second label is listed by all of them."""
    half = n_labels // 2  # common ones are even the others odd: none is listed twice
    common = 2 * ((rng.integers(0, half, (n, 1)) + 7 * np.arange(WIDTH // 2)) % half)
    members = []
    for number in range(N_MEMBERS):
        steps = (11 + 2 * number) * np.arange(WIDTH // 2)
        own = 2 * ((rng.integers(0, half, (n, 1)) + steps) % half) + 1
        labels = np.stack([common, own], axis=2).reshape(n, WIDTH)
        scores = -np.sort(-rng.random((n, WIDTH), np.float32), axis=1)
        members.append(Predictions(labels.astype(np.int32), scores, n_labels))
    return members


def random_texts(n: int, names: list[str], rng: np.random.Generator) -> list[str]:
    """Texts of ten words, some of which are names of labels."""
    drawn = rng.integers(0, len(names), (n, WORDS_PER_TEXT)).tolist()
    return [" ".join(names[number] for number in row) for row in drawn]


def fitted(fusion: Fusion, lists: list[Predictions], texts: list[str], names: list[str]) -> Fusion:
    """Learn a fusion from labels that lie among the first of the common ones."""
    n, n_labels = len(lists[0]), lists[0].n_labels
    truth = lists[0].labels[:, [0, 2, 6]]
    rows = np.repeat(np.arange(n), truth.shape[1])
    Y = sp.csr_array((np.ones(truth.size), (rows, truth.ravel())), shape=(n, n_labels))
    counts = np.bincount(truth.ravel(), minlength=n_labels)
    return fusion.fit(lists, Y, label_counts=counts, texts=texts, label_texts=names)


def timed(run: Callable[[], Any], rounds: int) -> dict[str, Any]:
    """Seconds of each round, and CPU seconds."""
    turns = []
    for _ in range(rounds):
        seconds, cpu_seconds = stopwatch(run)
        turns.append({"seconds": seconds, "cpu_seconds": cpu_seconds})
    return together(turns, Rounds)


def batches(n: int, n_labels: int, rounds: int) -> dict[str, Any]:
    """Seconds to fuse n texts, by each way of fusion."""
    rng = np.random.default_rng(0)
    lists = random_lists(n, n_labels, rng)
    names = [f"label{number}" for number in range(n_labels)]
    texts = random_texts(n, names, rng)
    some = [one[:2000] for one in lists]
    results = {}
    ways: list[Fusion] = [RankFusion(), CalibratedFusion(), LearnedFusion()]
    for way in ways:
        fusion = fitted(way, some, texts[:2000], names)

        def run(fusion: Fusion = fusion) -> Any:
            return fusion.fuse(lists, top_k=WIDTH, texts=texts)

        results[way.kind] = timed(run, rounds)
    return results


def latencies(n_labels: int, n_singles: int, rounds: int) -> dict[str, Any]:
    """Milliseconds for one text: of the members, and of the tagger that fuses them."""
    rng = np.random.default_rng(1)
    names = [f"label{number}" for number in range(n_labels)]
    texts = random_texts(4 * n_labels, names, rng)
    labels = [sorted(set(text.split()[:3])) for text in texts]
    dataset = Dataset.from_lists(texts, labels)
    members = {
        "xr-linear, overlap 2": Tagger("xr-linear", settings={"overlap": 2}),
        "parabel": Tagger("parabel"),
        "xr-linear over characters": Tagger("xr-linear", features="chars"),
    }
    for tagger in members.values():
        tagger.fit(dataset)
    part = dataset.take(np.arange(2000))
    taggers = dict(members)
    for fusion in ("rank", "calibrated", "learned"):
        whole = Tagger(Ensemble(list(members.items()), fusion=fusion)).fit(part)
        taggers[f"fused, {fusion}"] = whole
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in taggers}
    for _ in range(rounds):
        for name, tagger in taggers.items():
            top_k = WIDTH if name in members else 5  # what a member has to give, what a user wants

            def run(tagger: Tagger = tagger, top_k: int = top_k) -> None:
                for text in texts[:n_singles]:
                    tagger.predict_ids([text], top_k=top_k)

            clock, cpu = stopwatch(run)
            turns[name].append({"ms": 1e3 * clock / n_singles, "cpu_ms": 1e3 * cpu / n_singles})
    turns["members together"] = [
        {key: sum(turns[name][place][key] for name in members) for key in ("ms", "cpu_ms")}
        for place in range(rounds)
    ]
    return {f"one text, {name}": together(own, Rounds) for name, own in turns.items()}


def main() -> None:
    """Run both, print tables, store the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=40_000)
    parser.add_argument("--tagger-labels", type=int, default=4000)
    parser.add_argument("--singles", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-store", action="store_true")
    options = parser.parse_args()
    whole = batches(options.texts, options.labels, options.rounds)
    single = latencies(options.tagger_labels, options.singles, options.rounds)
    rows = rows_of({**whole, **single})
    show_rows(f"{options.texts:,} texts, {N_MEMBERS} members, {WIDTH} candidates each", rows)
    finish("fusion_speed", rows, settings=vars(options), store=not options.no_store)


if __name__ == "__main__":
    main()
