"""Members alone and fused, on one data set.

    python -m benchmarks.fusion --data ../shared/data/llms4subjects-gnd --rankings FOLDER
    python -m benchmarks.fusion --data ../shared/data/eurlex-titles

Members learn from the training split without a held-out part, the fusion learns from their answers
on it, members learn again from everything, and the test split is looked at once. Rankings of an
encoder come from `benchmarks.fusion.encoder`, which wants a GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.fusion import rankings
from benchmarks.fusion.measures import per_instance, summary
from benchmarks.fusion.problem import Problem
from benchmarks.report import finish, rows_of, show
from multitudes import Disentangled, Lexical, XRLinear, features
from multitudes.fusion import LearnedFusion, fuse_predictions
from multitudes.models.features import feature_spec
from multitudes.scores import remove_pairs
from multitudes.types import Predictions

TOP_K = 48
COLUMNS = ("P@1", "F1@5", "nDCG@5", "nDCG@20", "R@5", "R@20", "R@5-20")
TREES = ("tfidf", "subwords")


def main() -> None:
    arguments = parse()
    problem = Problem.read(Path(arguments.data))
    seconds: dict[str, float] = {}
    held = members(problem, arguments, seconds, full=False)
    fusion = timed(seconds, "fusion", lambda: learn(problem, held))
    test = members(problem, arguments, seconds, full=True)
    found = dict(test)
    found["rank fusion, nothing learned"] = fuse_predictions(list(test.values()), top_k=20)
    found["learned fusion"] = timed(
        seconds,
        "fusing the test split",
        lambda: fusion.fuse(list(test.values()), top_k=20, texts=problem.test_texts),
    )
    report(problem, found, test, seconds, arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="folder of a data set with texts")
    parser.add_argument("--rankings", help="folder that benchmarks.fusion.encoder wrote")
    parser.add_argument("--encoders", nargs="*", help="which of them; all by default")
    parser.add_argument("--no-store", action="store_true", help="keep no record")
    return parser.parse_args()


def timed(seconds: dict[str, float], name: str, make: Callable[[], Any]) -> Any:
    """What `make` returns; how long it took is added to the seconds of `name`."""
    start = time.perf_counter()
    made = make()
    seconds[name] = round(seconds.get(name, 0) + time.perf_counter() - start, 1)
    return made


def members(
    problem: Problem, arguments: argparse.Namespace, seconds: dict[str, float], *, full: bool
) -> dict[str, Predictions]:
    """Rankings of the held-out part by members that have not seen it, or of the test split."""
    rows = np.arange(len(problem.texts)) if full else problem.kept
    wanted = problem.test_texts if full else [problem.texts[i] for i in problem.held]
    texts, Y = [problem.texts[i] for i in rows], problem.Y[rows]
    found = {}
    for name in TREES:
        found[name] = timed(seconds, name, lambda name=name: tree(name, texts, Y, wanted))
    found["lexical"] = timed(
        seconds,
        "lexical",
        lambda: (
            Lexical().fit(texts, Y, label_texts=problem.label_texts).predict(wanted, top_k=TOP_K)
        ),
    )
    part = "full" if full else "kept"
    for path in (
        sorted(Path(arguments.rankings).glob(f"*-{part}.npz")) if arguments.rankings else ()
    ):
        name = path.name.removesuffix(f"-{part}.npz")
        if arguments.encoders is None or name in arguments.encoders:
            for kind, ranking in rankings.load(path, problem.Y).items():
                found[f"{name}, {kind}"] = ranking
    pairs = problem.test_pairs if full else problem.held_pairs
    return {name: remove_pairs(ranking, pairs) for name, ranking in found.items()}


def tree(name: str, texts: list[str], Y: Any, wanted: list[str]) -> Predictions:
    """A tree in which labels may have two leaves, over features of a name."""
    spec = feature_spec(name)
    assert spec is not None
    made = getattr(features, spec.make)(**spec.settings)
    model = Disentangled(XRLinear(), overlap=2).fit(made.fit_transform(texts), Y)
    ranking: Predictions = model.predict(made.transform(wanted), top_k=TOP_K)
    return ranking


def learn(problem: Problem, held: dict[str, Predictions]) -> LearnedFusion:
    """The fusion, from the answers of members on texts that they have not seen."""
    return LearnedFusion().fit(
        list(held.values()),
        problem.Y[problem.held],
        label_counts=np.asarray(problem.Y[problem.kept].sum(axis=0)).ravel(),
        texts=[problem.texts[i] for i in problem.held],
        label_texts=problem.label_texts,
    )


def report(
    problem: Problem,
    found: dict[str, Predictions],
    test: dict[str, Predictions],
    seconds: dict[str, float],
    arguments: argparse.Namespace,
) -> None:
    """A table, and the record: each member, both fusions, and a paired test."""
    means = {name: summary(ranking, problem.truth) for name, ranking in found.items()}
    rows = [[name, *(f"{row[c]:.4f}" for c in COLUMNS)] for name, row in means.items()]
    show(f"{problem.name}: {len(problem.test_texts):,} texts", ["", *COLUMNS], rows)
    best = max(test, key=lambda name: means[name]["nDCG@20"])
    ours = per_instance(found["learned fusion"], problem.truth)
    theirs = per_instance(found[best], problem.truth)
    gains = {
        name: {
            "gain": round(float((ours[name] - theirs[name]).mean()), 4),
            "p": float(stats.ttest_rel(ours[name], theirs[name]).pvalue),
        }
        for name in ("P@1", "F1@5", "nDCG@5", "nDCG@20")
    }
    settings = {"held_out": len(problem.held), "best_member": best}
    results = {
        **means, "learned fusion against the best member": gains, "seconds": seconds
    }  # fmt: skip
    finish(
        f"fusion-{problem.name}", rows_of(results), settings=settings, store=not arguments.no_store
    )


if __name__ == "__main__":
    main()
