"""Studies of labels given to groups, EAGLE: Tables 2 and 5, Figure 4, steps, set merge, cost.

Groups are made of the training part: random ones of 4 (R-4) and of 10 (R-10), clustered ones (C) of
at least 60 instances, which on eurlex-titles is the paper's depth of 8, or of a given depth (C-10),
and clusters of features with noise (N-0.5). A group's labels are a list with repetitions, as in the
paper's experiments, or a set. Rows are

- oracle: the instances' own labels;
- baseline: all labels of its group for every instance;
- EAGLE-0, EAGLE: labels imputed without and with 20 steps of 0.1, one instance for each label;
- contrast: ours, what `Tagger` and `multitudes train` do;
- rounds: the same, and then imputed again three times by models of two folds;
- narrow: rounds that begin with all labels for all members, and narrow down who has which.

A seed decides groups, folds and the solver. Features are word TF-IDF, or those of the file; filter
pairs are not applied. Nothing is chosen on the test split. All of it runs on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.evidence.study import Study, Values

Rows = dict[str, dict[str, Any]]

CONTRAST: dict[str, Any] = {"n_steps": "auto", "contrast": True, "use_counts": True}
METHODS: dict[str, dict[str, Any]] = {
    "EAGLE-0": {"n_steps": 0},
    "EAGLE": {"n_steps": 20},
    "contrast": CONTRAST,
    "rounds": {**CONTRAST, "rounds": 3},
    "narrow": {**CONTRAST, "rounds": "narrow"},
}
MERGES = {"lists": True, "sets": False}
PAPER = ("EAGLE-0", "EAGLE")
XR_LINEAR: dict[str, Any] = {"solver": "xr-linear", "n_jobs": 1}
ORACLE: Rows = {"oracle": {"method": "oracle"}}


def run(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Train one row and measure it on the test split."""
    from benchmarks.groups.measure import measured

    return measured(problem_of(source), settings, seed)


def run_steps(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """The same, and how near the embeddings are to where more steps lead."""
    from benchmarks.groups.measure import after_steps

    return after_steps(problem_of(source), settings, seed)


def run_memory(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Peak memory of imputing."""
    from benchmarks.groups.measure import memory

    return memory(problem_of(source), settings, seed)


def run_simulation(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Errors of estimators with and without assignment, over the oracle's, of some draws."""
    from benchmarks.groups.simulation import simulate

    n = settings["draws"]
    found = simulate(settings["task"], settings["sigma_2"], seeds=n, first_seed=seed * n)
    values = {"without assignment": found["without"], "with assignment": found["with"]}
    price = {} if found["price"] is None else {"price": found["price"]}
    return {**values, **price, "oracle's error": found["oracle_error"]}


def run_diagnosis(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """What ``multitudes group --diagnose`` says of the groups."""
    from benchmarks.groups.measure import diagnosed

    return diagnosed(problem_of(source), settings, seed)


@lru_cache(maxsize=1)
def problem_of(source: Path) -> Any:
    """The data, read once by a process."""
    from benchmarks.trees.data import load

    return load(source)


def baseline(grouping: str) -> Rows:
    """All labels of a group for all members: lists and sets are the same."""
    settings = {"grouping": grouping, "counts": False, "method": "baseline"}
    return {f"{grouping}, baseline": settings}


def imputed(grouping: str, methods: Iterable[str], merges: Iterable[str]) -> Rows:
    """Rows of methods that find out which instance has which label."""
    return {
        f"{grouping}, {method}, {merge}": {
            "grouping": grouping,
            "counts": MERGES[merge],
            "method": METHODS[method],
        }
        for method in methods
        for merge in merges
    }


def each(groupings: Sequence[str], rows: Callable[[str], Rows]) -> Rows:
    """Rows of all ways of grouping."""
    return {name: settings for grouping in groupings for name, settings in rows(grouping).items()}


def table(groupings: Sequence[str]) -> Rows:
    """Everything, from lists and from sets."""
    return {
        **ORACLE,
        **each(groupings, lambda g: baseline(g) | imputed(g, METHODS, MERGES) | numbers_known(g)),
    }


def numbers_known(grouping: str) -> Rows:
    """Embeddings from sets, but each label for as many instances as have it: what sets hide."""
    settings = {"grouping": grouping, "counts": False, "method": CONTRAST, "numbers known": True}
    return {f"{grouping}, contrast, sets, numbers known": settings}


SWEEP = (
    *(f"R-{size}" for size in (2, 4, 6, 8, 10)),
    *(f"C-{depth}" for depth in (8, 9, 10, 11, 12)),
    *(f"N-{noise}" for noise in (0, 0.25, 0.5, 0.75, 1)),
)

TABLE_2 = Study(
    "groups-table2",
    "What does imputing the labels of groups gain (Tables 2 and 5), from lists and from sets?",
    table(("R-4", "R-10", "C")),
    run,
    {"eurlex-titles": {}, "debian-debtags": {}, "bibtex": {}},
    XR_LINEAR,
    seeds=5,
)

PARABEL = Study(
    "groups-parabel",
    "The same with the paper's solver, Parabel with three trees, from lists",
    {**ORACLE, **each(("R-4", "R-10", "C"), lambda g: imputed(g, PAPER, ["lists"]) | baseline(g))},
    run,
    {"eurlex-titles": {}},
    {**XR_LINEAR, "solver": "parabel"},
)

SWEEPS = Study(
    "groups-sweeps",
    "How do the gains change with group size, depth of clustering, and noise (Figure 4)?",
    {
        **ORACLE,
        **each(
            SWEEP,
            lambda g: imputed(g, PAPER, ["lists"]) | imputed(g, ["contrast"], MERGES) | baseline(g),
        ),
    },
    run,
    {"eurlex-titles": {}},
    XR_LINEAR,
    seeds=5,
)


AT_REST = 1000  # steps: hardly a closest member changes any more


def steps(grouping: str) -> Rows:
    """Algorithm 1 for T steps, and 20 steps of other lengths."""
    settings = {"grouping": grouping, "counts": True}
    rows: Rows = {
        f"{grouping}, T = {n}": {**settings, "method": {"n_steps": n}}
        for n in (0, 5, 20, 50, 100, 200, AT_REST)
    }
    for step in (0.01, 1.0):
        method = {"n_steps": 20, "step": step}
        rows[f"{grouping}, T = 20, step {step:g}"] = {**settings, "method": method}
    return rows


STEPS = Study(
    "groups-steps",
    "How many steps should Algorithm 1 take, of which length, and when is it at rest?",
    {**steps("R-4"), **steps("R-10"), **steps("C")},
    run_steps,
    {"eurlex-titles": {}},
    {**XR_LINEAR, "at rest": AT_REST},
)

LARGE = Study(
    "groups-large",
    "What does it gain with 40,623 labels, and with 302,738 instances, in random groups of 4?",
    table(("R-4",)),
    run,
    {"debian-deps": {}, "yso-finna-en": {}},
    XR_LINEAR,
)

MEMORY = Study(
    "groups-memory",
    "How much memory does imputing take, in units of its input?",
    {"EAGLE": {"method": METHODS["EAGLE"]}, "contrast": {"method": CONTRAST}},
    run_memory,
    {"eurlex-titles": {}, "lf-msdocs-seealso": {}, "debian-deps": {}, "yso-finna-en": {}},
    {"grouping": "R-4", "counts": True, "n_jobs": 1},
)

B1 = "appendix-b1"
SIMULATION = Study(
    "groups-simulation",
    "When does it help to assign labels to instances: Theorem 1, Figures 3 and 6?",
    {
        f"{task}, sigma_2 = {sigma_2:g}": {"task": task, "sigma_2": sigma_2}
        for task in ("regression", "classification")
        for sigma_2 in (0.0, 0.1, 1.0, 5.0, 10.0)
    },
    run_simulation,
    {B1: {}},
    {"draws": 80},
    seeds=5,
    generated=(B1,),
)

DIAGNOSIS = Study(
    "groups-diagnosis",
    "What does a diagnosis say of groups of several make-ups?",
    {
        way: {"grouping": way}
        for way in ("R-2", "R-4", "R-10", "C-12", "C-10", "C-8", "N-0.5", "N-1")
    },
    run_diagnosis,
    {"eurlex-titles": {}},
    {"counts": True},
    seeds=1,
)

ALL = (DIAGNOSIS, TABLE_2, PARABEL, SWEEPS, SIMULATION, STEPS, LARGE, MEMORY)
