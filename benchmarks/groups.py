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
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.disentangle import at_least_one
from benchmarks.disentangle_study import KS
from benchmarks.groups_figures import draw
from benchmarks.groups_study import BASELINE, METHODS, ORACLE, SOLVERS, Plan, study
from benchmarks.groups_summary import summary
from benchmarks.report import finish, show
from multitudes.errors import MultitudesError, require

SWEEP = (
    *(f"R-{size}" for size in (2, 4, 6, 8, 10)),
    *(f"C-{depth}" for depth in (8, 9, 10, 11, 12)),
    *(f"N-{noise}" for noise in (0, 0.25, 0.5, 0.75, 1)),
)
COLUMNS = (ORACLE, BASELINE, *METHODS)


def measure(source: Path, plan: Plan) -> dict[str, Any]:
    """One data set, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return summary(pool.submit(study, source, plan).result())


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
            require("matplotlib", extra="plot")  # not after ten minutes of work
        for source in given.data:
            sets[source.name] = measure(source, plan)
            show_result(source.name, sets[source.name])
    except MultitudesError as error:
        sys.exit(str(error))
    for result in sets.values() if given.figures is not None else ():
        print(f"drawn: {draw(result, given.figures)}, {draw(result, given.figures, k=5)}")
    first = next(iter(sets.values()))
    headline = {key: value for key, value in first.items() if isinstance(value, float)}
    results = {**headline, "solver": given.solver, "n_jobs": given.threads, "sets": sets}
    finish(given.store_as, results, store=not given.no_store)


if __name__ == "__main__":
    main()
