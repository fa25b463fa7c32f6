"""Studies of label disentanglement: Tables 3 to 5, Figures 2 and 3, ablations, senses.

Data sets are folders as they are; features are word TF-IDF unless a row says otherwise. Settings
are fixed in advance, nothing is chosen on the test split, filter pairs are not applied, and a seed
decides the tree, the solver's order and what is random. All of it runs on a CPU.

debian-debtags has 594 labels: leaves of at most 10 keep a beam of 10 from reaching most of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.evidence.study import Study, Values

PAPER: dict[str, Any] = {
    "min_instances": 1,
    "tolerance": 1.0,
    "match_width": 10,
    "predict_width": 10,
}
UNCAPPED: dict[str, Any] = {"max_cluster_size": None}
# As in the paper, overlap or not.
EXACT = {"solver": {"epsilon": 0.1, "epsilon_growth": 0.0, "leaf_threshold": 1.0}}
EMBEDDINGS = Path("tmp/embeddings")


def meaning(data: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without a `leaf_threshold` of 1: runs from before there was one had that."""
    found = dict(settings)
    if "solver" in settings:
        solver = settings["solver"].items()
        found["solver"] = {k: v for k, v in solver if (k, v) != ("leaf_threshold", 1.0)}
    return found


def run(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Train one row and measure it on the test split."""
    from benchmarks.disentangle.measure import measured

    return measured(problem_of(source, settings["features"]), settings, seed)


def run_fused(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Fuse labels, and train a tree with and without overlap on them."""
    from benchmarks.disentangle.measure import fused

    return fused(problem_of(source, settings["features"]), settings, seed)


def run_separated(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Fuse pairs of labels, and see whether the leaves of a fused label tell its members apart."""
    from benchmarks.disentangle.measure import separated

    if source.name == CATALOGUE:
        problem, topics = catalogue(source)
        return separated(problem, topics, settings, seed)
    return separated(problem_of(source, settings["features"]), None, settings, seed)


@lru_cache(maxsize=1)
def problem_of(source: Path, features: str) -> Any:
    """The data, read once by a process."""
    from benchmarks.trees.data import Problem, load

    problem = load(source)
    if features == "words":
        return problem
    X, X_test = embeddings(source)
    if features == "minilm":
        return Problem(X, problem.Y, X_test, problem.Y_test)
    from multitudes.features.concat import joined

    both = [
        joined(list(blocks), [1.0, 1.0]) for blocks in ((problem.X, X), (problem.X_test, X_test))
    ]
    return Problem(both[0], problem.Y, both[1], problem.Y_test)


@lru_cache(maxsize=1)
def catalogue(source: Path) -> Any:
    """The generated catalogue and the topics of its labels."""
    from benchmarks.disentangle.separation import catalogue

    return catalogue(source)


def embeddings(source: Path) -> tuple[Any, Any]:
    """Texts of both parts by MiniLM as it comes: it has learned nothing from the labels."""
    import scipy.sparse as sp

    from multitudes.data import ReadOptions, read_dataset
    from multitudes.encoder.features import EncoderFeatures

    parts = []
    for split in ("trn", "tst"):
        path = EMBEDDINGS / f"{source.name}-{split}.npz"
        if not path.exists():
            texts = read_dataset(source, options=ReadOptions(split=split)).texts
            path.parent.mkdir(parents=True, exist_ok=True)
            sp.save_npz(path, EncoderFeatures("minilm").fit(texts).transform(texts))
        parts.append(sp.csr_array(sp.load_npz(path)))
    return parts[0], parts[1]


def over(overlap: int = 2, **settings: Any) -> dict[str, Any]:
    """Labels in several leaves; `settings` are parameters of `Disentangled`."""
    return {"overlapping": {"overlap": overlap, **settings}}


COMMON: dict[str, Any] = {"tree": "xr-linear", "features": "words", "n_jobs": 2}
CATALOGUE = "catalogue"
EURLEX: dict[str, dict[str, Any]] = {"eurlex-titles": {}}
DATA = {**EURLEX, "debian-debtags": {"shape": {"max_leaf_size": 10}}, "debian-deps": {}}
BASELINE: dict[str, Any] = {}

OVERLAPS = Study(
    "disentangle-overlaps",
    "What do labels in one to six leaves gain (Figure 3), and copies at random (Appendix A.8)?",
    {
        "baseline": BASELINE,
        **{f"overlap {n}": over(n) for n in range(1, 7)},
        "random copies": {**over(), "control": "random copies"},
    },
    run,
    {**DATA, "yso-finna-en": {}},
    COMMON,
)

PUBLISHED = Study(
    "disentangle-published",
    "What does overlap 2 gain with the paper's settings, with and without a cap and alternation?",
    {
        "baseline": BASELINE,
        "overlap 2": over(),
        "matcher kept": over(finetune_matcher=False),
        "paper's baseline": EXACT,
        "paper's overlap 1": {**over(1, **PAPER, **UNCAPPED), **EXACT},
        "paper's overlap 2": {**over(**PAPER, **UNCAPPED), **EXACT},
        "paper's overlap 2, capped": {**over(**PAPER), **EXACT},
        "paper's, matcher kept, capped": {**over(**PAPER, finetune_matcher=False), **EXACT},
    },
    run,
    DATA,
    COMMON,
    meaning=meaning,
)

REACH = Study(
    "disentangle-reach",
    "Is it reach or averaging that helps: copies that reach nothing new, and reach without copies?",
    {
        "baseline": BASELINE,
        "baseline, beam 20": {"beam_width": 20},
        "baseline, beam 40": {"beam_width": 40},
        "baseline, leaves twice as large": {"larger_leaves": 2},
        "two rankers in one leaf": {"control": "one leaf"},
        "overlap 1": over(1),
        "overlap 2": over(),
        "overlap 2, max": over(merge="max"),
        "overlap 2, sum": over(merge="sum"),
        "overlap 2, reach of the baseline": {**over(), "control": "same reach"},
        "overlap 2, beam 5": {**over(), "beam_width": 5},
        "two trees": {"n_trees": 2},
    },
    run,
    DATA,
    COMMON,
)

DEFAULTS = Study(
    "disentangle-defaults",
    "Which match width and how many rounds are best where labels are as they are?",
    {
        "overlap 2": over(),
        "match width 1": over(match_width=1),
        "match width 3": over(match_width=3),
        "match width 10": over(match_width=10),
        "rounds 2": over(rounds=2),
        "match width 1, rounds 2": over(match_width=1, rounds=2),
    },
    run,
    DATA,
    COMMON,
)

ENSEMBLES = Study(
    "disentangle-ensembles",
    "What does overlap 2 add to Parabel, and to ensembles of three and nine trees (Table 3)?",
    {
        "Parabel": {"tree": "parabel"},
        "Parabel, overlap 2": {"tree": "parabel", **over()},
        "three trees": {"n_trees": 3},
        "three trees, overlap 2": {"n_trees": 3, **over()},
        "nine trees": {"n_trees": 9},
        "nine trees, overlap 2": {"n_trees": 9, **over()},
    },
    run,
    DATA,
    COMMON,
)

DENSE = Study(
    "disentangle-dense",
    "What does overlap 2 add where dense features stand beside sparse ones (Table 3)?",
    {
        f"{name}, {kind}": {"features": features, **settings}
        for name, features in {
            "words": "words",
            "words and MiniLM": "words and minilm",
        }.items()
        for kind, settings in {
            "one tree": {},
            "one tree, overlap 2": over(),
            "three trees": {"n_trees": 3},
            "three trees, overlap 2": {"n_trees": 3, **over()},
        }.items()
    },
    run,
    EURLEX,
    COMMON,
)

FUSIONS = Study(
    "disentangle-fusions",
    "Does overlap 2 gain more, the less alike the labels are that were made one (Figure 2)?",
    {
        f"{mode}, k = {k}": {"mode": mode, "k": k, **over()}
        for k in (2, 4, 8)
        for mode in ("easy", "medium", "hard")
    },
    run_fused,
    DATA,
    COMMON,
)

SENSES = Study(
    "disentangle-senses",
    "Do the two members of a fused label end in different leaves, and with which settings?",
    {
        "defaults": over(),
        "match width 1": over(match_width=1),
        "match width 3": over(match_width=3),
        "rounds 2": over(rounds=2),
        "match width 1, rounds 2": over(match_width=1, rounds=2),
        "paper's": {**over(**PAPER, **UNCAPPED), **EXACT},
        "random copies": {**over(), "control": "random copies"},
        "defaults, overlap 3": over(3),
        "match width 1, rounds 2, overlap 3": over(3, match_width=1, rounds=2),
        "not disentangled": BASELINE,
    },
    run_separated,
    {
        CATALOGUE: {"shape": {"branching": 8, "max_leaf_size": 50}},
        "eurlex-titles": {},
        "debian-debtags": DATA["debian-debtags"],
    },
    {**COMMON, "mode": "hard", "k": 2, "separate": True},
    seeds=5,
    generated=(CATALOGUE,),
    meaning=meaning,
)

ALL = (OVERLAPS, PUBLISHED, REACH, DEFAULTS, ENSEMBLES, DENSE, FUSIONS, SENSES)
