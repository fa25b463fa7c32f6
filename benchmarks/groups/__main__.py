"""What does imputing the labels of groups gain, and cost: Table 2 and Figure 4 of the paper.

``python -m benchmarks.groups --data DIR``. After the EAGLE paper, the labels of a data set are
given to groups of its instances, in lists with repetitions, and a model is trained on

- oracle: the instances' own labels;
- baseline: all labels of its group for every instance;
- EAGLE-0, EAGLE: labels imputed without and with 20 steps of 0.1, one instance for each label;
- contrast: ours, with contrasting embeddings, the counts of the lists, and automatic steps;
- rounds: the same, and then imputed again three times by models of two folds.

Groups are random ones of 4 (R-4) and of 10 (R-10), and clustered ones (C) of at least 60 instances,
which on eurlex-titles is the paper's depth of 8. With ``--figures`` also those of Figure 4: random
groups of 2 to 10, depths of 8 to 12, and clusters of features with noise of 0 to 1, one seed each.

A seed decides the groups, the folds and the solver. All settings are fixed: rounds and folds were
chosen on a validation part of eurlex-titles' training split, what is automatic by the labels that
are right on the whole of it. Precisions are percentages, means over seeds, +/- their standard
deviation. Filter pairs are not applied. A baseline of more than 20 million labels is left out as
too large.

Seconds are medians over seeds, in one process after a warm-up. `memory_factor` is the peak memory
of imputing at R-4 in units of its input, X, groups and labels of groups.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.groups.figures import draw
from benchmarks.groups.study import (
    BASELINE,
    CONTRAST,
    EAGLE,
    METHODS,
    ORACLE,
    ROUNDS,
    SOLVERS,
    START,
    Plan,
    Run,
    Runs,
    study,
)
from benchmarks.report import at_least_one, finish, show
from benchmarks.trees.arena import KS
from multitudes.errors import MultitudesError, require

SWEEP = (
    *(f"R-{size}" for size in (2, 4, 6, 8, 10)),
    *(f"C-{depth}" for depth in (8, 9, 10, 11, 12)),
    *(f"N-{noise}" for noise in (0, 0.25, 0.5, 0.75, 1)),
)
FOUR, TEN = "R-4", "R-10"
P1, P5 = 0, 2
COLUMNS = (ORACLE, BASELINE, *METHODS)


def measure(source: Path, plan: Plan) -> dict[str, Any]:
    """One data set, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return summary(pool.submit(study, source, plan).result())


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """One data set: the headline numbers first, then everything behind them.

    Parameters
    ----------
    found : dict
        What `study.study` returns.
    """
    oracle = found["oracle"]
    settings = {
        name: {method: method_summary(own) for method, own in {ORACLE: oracle, **runs}.items()}
        for name, runs in (found["settings"] | found["sweep"]).items()
        if runs[EAGLE]
    }
    return {
        **headlines(found["settings"], oracle),
        "memory_factor": found["memory_factor"],
        "sizes": found["sizes"],
        "depth": found["depth"],
        "settings": settings,
    }


def headlines(settings: dict[str, Runs], oracle: Sequence[Run]) -> dict[str, Any]:
    """What the tables come down to; what was not run is left out."""
    numbers: dict[str, Any] = {}
    if FOUR in settings:
        runs = settings[FOUR]
        numbers |= {
            "r4_p1_gain": gain(runs, EAGLE, BASELINE, P1),
            "r4_p5_gain": gain(runs, EAGLE, BASELINE, P5),
            "r4_over_eagle0": gain(runs, EAGLE, START, P1),
            "r4_gap_closed": gap_closed(runs, oracle, ROUNDS),
            "impute_accuracy_r4": float(np.mean([run.accuracy for run in runs[EAGLE]])),
            **seconds(runs),
        }
    if TEN in settings:
        runs = settings[TEN]
        numbers |= {
            "r10_p1_gain": gain(runs, EAGLE, BASELINE, P1),
            "r10_gap_closed": gap_closed(runs, oracle, ROUNDS),
            "r10_gap_closed_contrast": gap_closed(runs, oracle, CONTRAST),
            **{f"r10_{key}": value for key, value in seconds(runs).items()},
        }
    return numbers


def gain(runs: Runs, ours: str, theirs: str, k: int) -> float | None:
    """By how many points the one is better, in the mean over seeds; None if one was not run."""
    if not runs.get(theirs):
        return None
    return mean_p(runs[ours])[k] - mean_p(runs[theirs])[k]


def gap_closed(runs: Runs, oracle: Sequence[Run], ours: str) -> float:
    """Part of the distance between EAGLE and the oracle, at P@5."""
    low, high = mean_p(runs[EAGLE])[P5], mean_p(oracle[: len(runs[EAGLE])])[P5]
    return (mean_p(runs[ours])[P5] - low) / (high - low)


def seconds(runs: Runs) -> dict[str, float]:
    """Medians over seeds: imputing, training on imputed labels, and both against the baseline."""
    numbers = {
        "impute_seconds": median(runs[EAGLE], "impute_s"),
        "solver_seconds": median(runs[EAGLE], "train_s"),
        "impute_over_solver": ratio(runs[EAGLE], ("impute_s",), runs[EAGLE]),
        "impute_over_solver_cpu": ratio(runs[EAGLE], ("impute_cpu_s",), runs[EAGLE], cpu=True),
    }
    if runs.get(BASELINE):
        total = ("impute_s", "train_s")
        numbers["baseline_seconds"] = median(runs[BASELINE], "train_s")
        numbers["eagle_over_baseline"] = ratio(runs[EAGLE], total, runs[BASELINE])
    return numbers


def ratio(
    ours: Sequence[Run], keys: Sequence[str], theirs: Sequence[Run], *, cpu: bool = False
) -> float:
    """The median over seeds of some seconds over the training seconds of other runs."""
    own = "train_cpu_s" if cpu else "train_s"
    return statistics.median(
        sum(getattr(one, key) for key in keys) / getattr(other, own)
        for one, other in zip(ours, theirs, strict=True)
    )


def median(runs: Sequence[Run], key: str) -> float:
    return statistics.median(getattr(run, key) for run in runs)


def mean_p(runs: Sequence[Run]) -> list[float]:
    found: list[float] = np.mean([run.p for run in runs], axis=0).tolist()
    return found


def method_summary(runs: Sequence[Run]) -> dict[str, Any]:
    """One method over its seeds: mean and standard deviation of P@1, 3 and 5, and all runs."""
    p = np.array([run.p for run in runs])
    return {
        "seeds": len(runs),
        "p": p.mean(axis=0).tolist(),
        "p_deviation": p.std(axis=0, ddof=1).tolist() if len(runs) > 1 else None,
        "runs": [asdict(run) for run in runs],
    }


def show_result(name: str, result: dict[str, Any]) -> None:
    """The tables of one data set."""
    rows = []
    for setting, methods in result["settings"].items():
        for place, k in enumerate(KS):
            cells = [cell(methods.get(method), place) for method in COLUMNS]
            rows.append((f"{setting} P@{k}", *cells))
        right = [accuracy(methods.get(method)) for method in COLUMNS]
        rows.append((f"{setting} labels right, %", *right))
    show(name, ("", *COLUMNS), rows)
    numbers = [(key, f"{value:.3f}") for key, value in result.items() if isinstance(value, float)]
    show(f"{name}: summary", ("", ""), numbers)


def cell(method: dict[str, Any] | None, place: int) -> str:
    """A mean, with its deviation where there is one."""
    if method is None:
        return "too large"
    deviation = method["p_deviation"]
    spread = "" if deviation is None else f" +/- {deviation[place]:.2f}"
    return f"{method['p'][place]:.2f}{spread}"


def accuracy(method: dict[str, Any] | None) -> str:
    """The part of the imputed labels that are right."""
    found = [] if method is None else [run["accuracy"] for run in method["runs"]]
    known = [value for value in found if value is not None]
    return f"{100 * sum(known) / len(known):.1f}" if known else ""


def names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.groups",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Plan()
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--settings", type=names, default=default.settings, help="R-4,R-10,C")
    parser.add_argument("--seeds", type=at_least_one, default=default.seeds)
    parser.add_argument("--solver", choices=tuple(SOLVERS), default=default.solver)
    parser.add_argument("--threads", type=at_least_one, default=default.n_jobs)
    parser.add_argument("--no-store", action="store_true", help="only print")
    parser.add_argument("--store-as", default="groups", help="name of the stored record")
    parser.add_argument("--figures", type=Path, help="folder to draw Figure 4 in; none by default")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    plan = Plan(
        settings=given.settings,
        sweep=() if given.figures is None else SWEEP,
        seeds=given.seeds,
        solver=given.solver,
        n_jobs=given.threads,
    )
    sets: dict[str, Any] = {}
    try:
        if given.figures is not None:
            require("matplotlib", extra="dev")  # not after ten minutes of work
        for source in given.data:
            sets[source.name] = measure(source, plan)
            show_result(source.name, sets[source.name])
    except MultitudesError as error:
        sys.exit(str(error))
    for result in sets.values() if given.figures is not None else ():
        print(f"drawn: {draw(result, given.figures)}, {draw(result, given.figures, k=5)}")
    first = next(iter(sets.values()))
    headline = {key: value for key, value in first.items() if isinstance(value, float)}
    results = {**headline, "solver": given.solver, "n_threads": given.threads, "sets": sets}
    finish(given.store_as, results, store=not given.no_store)


if __name__ == "__main__":
    main()
