"""Which learner should fuse ranked lists? Ways of fusion and libraries of rankers, side by side.

On the training part of a data set alone: 70 % train three members (XR-Linear with overlap 2,
Parabel, XR-Linear over parts of words), 15 % train each fusion, 15 % measure it. LightGBM takes
part if it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show
from multitudes import Dataset, Tagger, read_dataset
from multitudes.fusion import CalibratedFusion, Fusion, LearnedFusion, RankFusion, fuse_predictions
from multitudes.fusion.lists import checked_lists
from multitudes.metrics import ndcg_at_k, precision_at_k
from multitudes.scores.outcomes import outcomes
from multitudes.types import Predictions

CANDIDATES = 50
MEMBERS = {
    "xr-linear, overlap 2": {"model": "xr-linear", "settings": {"overlap": 2}},
    "parabel": {"model": "parabel"},
    "xr-linear over parts of words": {
        "model": "xr-linear", "features": "chars", "settings": {"overlap": 2}
    },
}  # fmt: skip


def parts(dataset: Dataset, seed: int) -> list[Dataset]:
    """Instances for members, for fusions, and for measuring."""
    order = np.random.default_rng(seed).permutation(len(dataset))
    cuts = np.split(order, [int(0.7 * len(order)), int(0.85 * len(order))])
    return [dataset.take(np.sort(rows)) for rows in cuts]


def measured(found: Predictions, part: Dataset) -> dict[str, float]:
    """What counts, in percent."""
    return {
        "P@1": 100 * precision_at_k(found, part.Y, k=1),
        "nDCG@5": 100 * ndcg_at_k(found, part.Y, k=5),
        "nDCG@20": 100 * ndcg_at_k(found, part.Y, k=20),
    }


def rankers() -> dict[str, Any]:
    """Functions of (about, is_true, sizes) that return a function from `about` to scores."""

    def boosting(about: Any, is_true: Any, sizes: Any) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(
            max_iter=100, max_leaf_nodes=16, l2_regularization=10, min_samples_leaf=100,
            early_stopping=False,
        ).fit(about, is_true)  # fmt: skip
        return model.decision_function

    def logistic(about: Any, is_true: Any, sizes: Any) -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        def filled(about: Any) -> Any:
            return np.nan_to_num(np.hstack([about, np.isnan(about)]))

        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
        model.fit(filled(about), is_true)
        return lambda about: model.decision_function(filled(about))

    def lightgbm(objective: str) -> Any:
        def train(about: Any, is_true: Any, sizes: Any) -> Any:
            import lightgbm as lgb

            settings = {
                "objective": objective, "num_leaves": 16, "lambda_l2": 10, "verbose": -1,
                "min_data_in_leaf": 100, "seed": 0,
            }  # fmt: skip
            group = None if objective == "binary" else sizes
            return lgb.train(settings, lgb.Dataset(about, is_true, group=group), 100).predict

        return train

    found = {"scikit-learn, boosting": boosting, "scikit-learn, logistic regression": logistic}
    if importlib.util.find_spec("lightgbm") is not None:
        for objective in ("binary", "lambdarank", "rank_xendcg"):
            found[f"LightGBM, {objective}"] = lightgbm(objective)
    return found


class Described:
    """Candidates of a part, as `LearnedFusion` sees them."""

    def __init__(self, fusion: LearnedFusion, given: list[Predictions], part: Dataset) -> None:
        lists = checked_lists(given)
        block = lists.block(slice(0, len(lists)))
        texts = list(part.texts or ())
        self.labels, about = fusion._described(block, lists, texts, fusion.candidates)
        self.listed = self.labels >= 0
        order = Predictions(self.labels, np.where(self.listed, 0.0, -np.inf), lists.n_labels)
        self.about, self.sizes = about[self.listed], self.listed.sum(axis=1)
        self.is_true = outcomes(order, part.Y).is_true[self.listed]

    def ranked(self, scores: Any, n_labels: int) -> Predictions:
        """The candidates in the order of some scores."""
        values = np.full(self.labels.shape, -np.inf, np.float32)
        values[self.listed] = scores
        order = np.argsort(-values, axis=1, kind="stable")
        pair = (np.take_along_axis(one, order, axis=1) for one in (self.labels, values))
        return Predictions(*pair, n_labels)  # type: ignore[arg-type, call-arg]


def run(dataset: Dataset, seed: int) -> dict[str, dict[str, float]]:
    """Every member, every way of fusion, every ranker."""
    learned_on, fused_on, measured_on = parts(dataset, seed)
    found: dict[str, list[Predictions]] = {"fused": [], "measured": []}
    results = {}
    for name, arguments in MEMBERS.items():
        start = time.perf_counter()
        tagger = Tagger(**arguments).fit(learned_on)  # type: ignore[arg-type]
        seconds = time.perf_counter() - start
        for key, part in (("fused", fused_on), ("measured", measured_on)):
            found[key].append(tagger.predict_ids(part.texts, top_k=CANDIDATES))
        results[name] = {**measured(found["measured"][-1], measured_on), "seconds": seconds}
    plain = fuse_predictions(found["measured"])
    results["rank fusion, equal weights"] = {**measured(plain, measured_on), "seconds": 0.0}
    names = list(dataset.label_texts or dataset.label_names or ())
    about = {
        "label_counts": np.bincount(learned_on.Y.indices, minlength=dataset.n_labels),
        "texts": list(fused_on.texts or ()),
        "label_texts": names,
    }
    ways: dict[str, Fusion] = {
        "rank fusion, learned weights": RankFusion(by_frequency=False),
        "rank fusion, weights by frequency": RankFusion(),
        "calibrated fusion": CalibratedFusion(),
        "calibrated fusion, weights by frequency": CalibratedFusion(by_frequency=True),
        "calibrated fusion, isotonic": CalibratedFusion(method="isotonic"),
        "learned fusion": (learned := LearnedFusion()),
    }
    for name, way in ways.items():
        start = time.perf_counter()
        way.fit(found["fused"], fused_on.Y, **about)
        seconds = time.perf_counter() - start
        fused = way.fuse(found["measured"], texts=list(measured_on.texts or ()))
        results[name] = {**measured(fused, measured_on), "seconds": seconds}
    train = Described(learned, found["fused"], fused_on)
    test = Described(learned, found["measured"], measured_on)
    for name, ranker in rankers().items():
        start = time.perf_counter()
        score = ranker(train.about, train.is_true, train.sizes[train.sizes > 0])
        seconds = time.perf_counter() - start
        fused = test.ranked(score(test.about), dataset.n_labels)
        results[name] = {**measured(fused, measured_on), "seconds": seconds}
    return results


def main() -> None:
    """Run it, print the table, store the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of a data set")
    parser.add_argument("--limit", type=int, default=None, help="instances at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-store", action="store_true")
    options = parser.parse_args()
    dataset = read_dataset(options.data)
    if options.limit is not None and len(dataset) > options.limit:
        rows = np.random.default_rng(options.seed).permutation(len(dataset))[: options.limit]
        dataset = dataset.take(np.sort(rows))
    results = run(dataset, options.seed)
    show(
        f"{options.data.name}, {len(dataset):,} instances of the training part",
        ["", "P@1", "nDCG@5", "nDCG@20", "seconds"],
        [[name, *(f"{value:.2f}" for value in one.values())] for name, one in results.items()],
    )
    settings = {"n_instances": len(dataset)}
    name = f"fusion_learners-{options.data.name}"
    finish(name, rows_of(results), settings=settings, store=not options.no_store)


if __name__ == "__main__":
    main()
