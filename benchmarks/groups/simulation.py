"""When does it help to assign labels to the instances of a group? Theorem 1, simulated.

The study ``groups-simulation`` draws the data of the paper's appendix B.1 and compares three
estimators: without assignment, with assignment, and with every instance's label known, by which the
others' errors are divided. Figures 3 and 6 of the paper.

The regression follows Eq. (3) to the letter. For the classification the paper names no estimators:
here the one without assignment is its baseline, every instance with all labels of its group, and
the other one gives each label to the instances that the first scores highest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.report.means import mean_and_margin
from benchmarks.report.records import Record
from multitudes.groups.within_spread import WithinSpread

Array = npt.NDArray[np.float64]

GROUP_SIZE, N_INSTANCES, N_FEATURES, N_LABELS = 10, 1000, 10, 5
SPREADS = (0.0, 0.1, 1.0, 5.0, 10.0)
"""sigma_2: the deviation within a group (regression), or how much one label prevails in it."""
N_TEST = 10_000


@dataclass(frozen=True)
class Sample:
    """Grouped data whose truth is known.

    Parameters
    ----------
    X : array (n_groups, group_size, n_features)
    Z : array (n_groups, group_size, n_labels)
        Responses, or one-hot labels. Within a group the estimators may not use their order.
    error : callable
        From an estimate (n_features, n_labels) to its error.
    """

    X: Array
    Z: Array
    error: Callable[[Array], float]


def draw_regression(sigma_2: float, rng: np.random.Generator) -> Sample:
    """Section 5: x = center + deviation, z = B x + noise, with sigma_1 = sigma_e = 1."""
    n_groups = N_INSTANCES // GROUP_SIZE
    B = rng.normal(size=(N_FEATURES, N_LABELS))
    B /= np.linalg.norm(B, 2)
    centers = rng.normal(size=(n_groups, 1, N_FEATURES))
    X = centers + sigma_2 * rng.normal(size=(n_groups, GROUP_SIZE, N_FEATURES))
    Z = X @ B + rng.normal(size=(n_groups, GROUP_SIZE, N_LABELS))
    return Sample(X, Z, lambda estimate: float(np.sqrt(np.mean((estimate - B) ** 2))))


def draw_classification(sigma_2: float, rng: np.random.Generator) -> Sample:
    """Appendix B.1: x = the truth of a label + noise of 0.1, without noise in the labels.

    One label of a group is exp(sigma_2) times as probable as another, so here groups are alike
    where sigma_2 is *large*.
    """
    truth = rng.normal(size=(N_LABELS, N_FEATURES))
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    n_groups = N_INSTANCES // GROUP_SIZE
    chances = np.ones((n_groups, N_LABELS))
    chances[np.arange(n_groups), rng.integers(N_LABELS, size=n_groups)] = np.exp(sigma_2)
    chances /= chances.sum(axis=1, keepdims=True)
    drawn = (rng.random((n_groups, GROUP_SIZE, 1)) > chances.cumsum(axis=1)[:, None]).sum(axis=2)
    X, labels = _observe(truth, np.minimum(drawn, N_LABELS - 1), rng)
    test_X, test_labels = _observe(truth, rng.integers(N_LABELS, size=N_TEST), rng)

    def error(estimate: Array) -> float:
        return float(np.mean(np.argmax(test_X @ estimate, axis=1) != test_labels))

    return Sample(X, np.eye(N_LABELS)[labels], error)


def _observe(
    truth: Array, drawn: npt.NDArray[np.int64], rng: np.random.Generator
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Features around the truth of the drawn labels, and the label that is nearest to them."""
    X = truth[drawn] + 0.1 * rng.normal(size=(*drawn.shape, N_FEATURES))
    return X, np.argmax(X @ truth.T, axis=-1)


def least_squares(X: Array, Z: Array) -> Array:
    """LR of Eq. (3); a minimum-norm solution where features are not independent."""
    solution: Array = np.linalg.lstsq(
        X.reshape(-1, X.shape[-1]), Z.reshape(-1, Z.shape[-1]), rcond=None
    )[0]
    return solution


def regress_sums(X: Array, Z: Array) -> Array:
    """NoAS of Eq. (3): sums of groups against sums of groups."""
    return least_squares(X.sum(axis=1), Z.sum(axis=1))


def regress_nearest(X: Array, Z: Array, first: Array) -> Array:
    """AS of Eq. (3): each response goes to the instance that the first estimate fits best."""
    fitted = X @ first  # (n_groups, group_size, n_labels)
    distances = np.linalg.norm(Z[:, :, None] - fitted[:, None, :], axis=3)
    chosen = np.argmin(distances, axis=2)  # (n_groups, group_size)
    return least_squares(np.take_along_axis(X, chosen[:, :, None], axis=1), Z)


def classify_spread(X: Array, Z: Array) -> Array:
    """The paper's baseline: every instance has all labels of its group, as often as listed."""
    return least_squares(X, np.broadcast_to(Z.sum(axis=1, keepdims=True), Z.shape))


def classify_best(X: Array, Z: Array, first: Array) -> Array:
    """A label that a group lists c times goes to the c instances that score highest for it."""
    order = np.argsort(-(X @ first), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")  # (n_groups, group_size, n_labels)
    return least_squares(X, (ranks < Z.sum(axis=1, keepdims=True)).astype(np.float64))


@dataclass(frozen=True)
class Task:
    """How data is drawn, and the two estimators; the second starts from the first's estimate."""

    draw: Callable[[float, np.random.Generator], Sample]
    without: Callable[[Array, Array], Array]
    assigned: Callable[[Array, Array, Array], Array]


TASKS = {
    "regression": Task(draw_regression, regress_sums, regress_nearest),
    "classification": Task(draw_classification, classify_spread, classify_best),
}


def simulate(task: str, sigma_2: float, *, seeds: int, first_seed: int = 0) -> dict[str, Any]:
    """Errors of the two estimators relative to the oracle's, over seeds from the first on.

    The ratio of mean errors, with the standard error of that ratio; a mean of ratios would be
    undefined where an oracle makes no error.
    """
    errors = np.empty((seeds, 3))
    for number in range(seeds):
        sample = TASKS[task].draw(sigma_2, np.random.default_rng(first_seed + number))
        X, Z = sample.X, sample.Z
        first = TASKS[task].without(X, Z)
        estimates = (first, TASKS[task].assigned(X, Z, first), least_squares(X, Z))
        errors[number] = [sample.error(estimate) for estimate in estimates]
    oracle = errors[:, 2].mean()
    relative = errors[:, :2].mean(axis=0) / oracle
    deviations = errors[:, :2] - relative * errors[:, 2:]
    margins = deviations.std(axis=0, ddof=1) / np.sqrt(seeds) / oracle
    spread = WithinSpread(1.0, sigma_2, GROUP_SIZE, N_INSTANCES, N_FEATURES)
    return {
        "task": task,
        "sigma_2": sigma_2,
        "without": float(relative[0]),
        "without_se": float(margins[0]),
        "with": float(relative[1]),
        "with_se": float(margins[1]),
        "oracle_error": float(oracle),
        "price": spread.price if task == "regression" else None,
    }


def draw_figure(record: Record, path: Path) -> Path:
    """Relative errors against sigma_2, a panel per task; the price of Theorem 1 dotted."""
    from benchmarks.figures import explain, panels_for, saved

    figure, panels = panels_for(dict.fromkeys(TASKS))
    places = range(len(SPREADS))
    for axes, task in zip(panels, TASKS, strict=True):
        rows = [row_name(task, spread) for spread in SPREADS]
        for measure, color, marker in (
            ("without assignment", "#c44e2b", "s"),
            ("with assignment", "#2b6a99", "o"),
        ):
            found = [mean_and_margin(list(record.values(row, measure).values())) for row in rows]
            axes.errorbar(
                places, [mean for mean, _ in found], yerr=[margin or 0.0 for _, margin in found],
                color=color, marker=marker, capsize=2, elinewidth=0.8, label=measure,
            )  # fmt: skip
        if task == "regression":
            prices = [record.values(row, "price")[0] for row in rows]
            axes.plot(places, prices, color="#888888", linestyle=":", label="price (Theorem 1)")
        axes.axhline(1, color="#888888", linewidth=0.8)
        axes.set_yscale("log")
        ticks = [1, 2, 3] if task == "regression" else [1, 3, 10, 30]
        axes.set_yticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xticks(places, [f"{spread:g}" for spread in SPREADS])
        axes.set_title(task, fontsize=10)
    panels[0].set_xlabel("spread within groups, sigma_2")
    panels[1].set_xlabel("one label prevails, sigma_2")
    panels[0].set_ylabel("error / oracle's error")
    explain(figure, panels[0], title=None)
    path.parent.mkdir(parents=True, exist_ok=True)
    return saved(figure, path)


def row_name(task: str, sigma_2: float) -> str:
    """How a row of the study is called."""
    return f"{task}, sigma_2 = {sigma_2:g}"
