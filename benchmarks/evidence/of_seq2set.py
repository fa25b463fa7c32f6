"""Studies of OTSeq2Set: Table 3, schemes, the weight of transport, batch sizes, word vectors.

Data sets are folders that ``python -m benchmarks.seq2set --prepare`` wrote, with word vectors, or
as they are. Nine tenths of the training split are learned from, the last tenth chooses the epoch,
and the test split is looked at once. Trainings share a card, so that their seconds mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.evidence.study import Study, Values

KEPT = ("micro_precision", "micro_recall", "micro_f1", "macro_f1", "weighted_f1", "example_f1",
        "mean_size", "threshold_any_micro_f1")  # fmt: skip


def run(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Train one row and measure its sets on the validation and the test part."""
    from benchmarks.seq2set.measure import train_and_measure

    problem = problem_of(source, settings["max_length"])
    model = model_of(settings, problem.vectors, seed)
    found = train_and_measure(model, problem, look_at_test=True)
    values = {f"validation {name}": found["validation"][name] for name in KEPT}
    values |= {name: found["test"][name] for name in KEPT}
    return values | {"best epoch": found["best_epoch"]}


def model_of(settings: Mapping[str, Any], vectors: str | None, seed: int) -> Any:
    """An unfitted model; `vectors` is the file of word vectors that the data come with."""
    from benchmarks.seq2set.contestants import contestant
    from multitudes.seq2set import Seq2SetTraining, WordsConfig

    return contestant(
        settings["preset"],
        words=WordsConfig(
            vectors=vectors if settings.get("vectors", True) else None,
            dim=settings["dim"],
            max_length=settings["max_length"],
        ),
        training=Seq2SetTraining(
            epochs=settings["epochs"],
            learning_rate=settings["learning_rate"],
            warmup_steps=settings["warmup_steps"],
            evaluate_every=settings["evaluate_every"],
        ),
        batch_size=settings["batch_size"],
        changes=[
            f"network.compile={settings['compile']}",
            *settings.get("sizes", ()),
            *settings["changes"],
        ],
        random_state=seed,
    )


@lru_cache(maxsize=1)
def problem_of(source: Path, max_length: int) -> Any:
    """The data, read once by a process."""
    from benchmarks.seq2set.problem import FILE, Problem, prepare

    if (source / FILE).exists():
        return Problem.load(source)
    return prepare(source, vectors=None, max_length=max_length)


CHOSEN = {
    "eurlex-titles": "all",
    "debian-debtags": "first-n",
    "llms4subjects-gnd": "first-n",
}
"""The scheme that a set model chooses by itself from the label counts of a data set."""


def meaning(data: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that a model has anyway: a row that spells them out is not run again.

    Transport that counts nothing is matching with convolution, the preset ``bm+lc``.
    """
    own = {f"loss.scheme={CHOSEN[data]}", "loss.transport_weight=8"}
    found = {key: value for key, value in settings.items() if (key, value) != ("vectors", True)}
    found["changes"] = [change for change in settings["changes"] if change not in own]
    if found["preset"] == "otseq2set" and "loss.transport_weight=0" in found["changes"]:
        found["preset"] = "bm+lc"
        found["changes"].remove("loss.transport_weight=0")
    return found


def row(preset: str, *changes: str, **settings: Any) -> dict[str, Any]:
    """A preset and changes to it, as the command line spells them; `settings` are of training."""
    return {"preset": preset, "changes": list(changes), **settings}


SMALL_BATCH = {"batch_size": 64, "learning_rate": 1e-3, "warmup_steps": 0}
LARGE_BATCH = {"batch_size": 256, "learning_rate": 3e-3, "warmup_steps": 60}
COMMON = {**LARGE_BATCH, "dim": 100, "evaluate_every": 5, "compile": "graphs"}
DATA: dict[str, dict[str, Any]] = {
    "eurlex-titles": {"max_length": 256, "epochs": 25},
    "debian-debtags": {"max_length": 256, "epochs": 20},
}
LARGE_DATA: dict[str, dict[str, Any]] = {
    "llms4subjects-gnd": {
        "max_length": 96,
        "epochs": 10,
        "learning_rate": 2e-3,
        # As many steps as 99.9 % of the records need, of 27, and an output layer for many labels.
        "sizes": ["network.n_steps=16", "network.bottleneck=300"],
    }
}
SEQUENCES = ("seq2seq", "mlc2seq", "sgm", "seq2seq+lc", "mlc2seq+lc", "sgm+lc")
SETS = ("bm", "bm+lc", "bm+ot", "otseq2set")

TABLE_3 = Study(
    "seq2set-table3",
    "Do sets beat sequences, and what do convolution and transport add (Tables 3 and 6)?",
    {name: row(name) for name in (*SETS[::-1], *SEQUENCES)},
    run,
    DATA | LARGE_DATA,
    COMMON,
    meaning=meaning,
)


def with_schemes(*names: str) -> dict[str, dict[str, Any]]:
    """Set models with labels matched to all steps, or to the first n."""
    return {
        f"{name}, {scheme}": row(name, f"loss.scheme={scheme}")
        for name in names
        for scheme in ("first-n", "all")
    }


SCHEMES = Study(
    "seq2set-schemes",
    "Which steps should labels be matched with, all or the first n (Table 5)?",
    with_schemes("otseq2set", "bm"),
    run,
    DATA | LARGE_DATA,
    COMMON,
    meaning=meaning,
)

PARTS = Study(
    "seq2set-parts",
    "Do transport and convolution help with both schemes, where texts have few of many labels?",
    with_schemes("bm+ot", "bm+lc"),
    run,
    LARGE_DATA,
    COMMON,
    meaning=meaning,
)

WEIGHTS = Study(
    "seq2set-transport-weight",
    "How much should the transport distance count (Figure 5)?",
    {
        f"{weight:g}": row("otseq2set", f"loss.transport_weight={weight:g}")
        for weight in (0, 1, 2, 4, 8, 16)
    },
    run,
    {"eurlex-titles": DATA["eurlex-titles"]},
    COMMON,
    meaning=meaning,
)

BATCHES = Study(
    "seq2set-batch-size",
    "Is F1 the same with batches of 64 and of 256?",
    {
        f"{name}, {settings['batch_size']}": row(name, **settings)
        for name in ("otseq2set", "seq2seq")
        for settings in (SMALL_BATCH, LARGE_BATCH)
    },
    run,
    DATA,
    COMMON,
    meaning=meaning,
)

WORD_VECTORS = Study(
    "seq2set-word-vectors",
    "What do word vectors of GloVe add over learned ones?",
    {
        f"{name}, {kind}": row(name, vectors=given)
        for name in ("otseq2set", "seq2seq")
        for kind, given in (("GloVe", True), ("learned", False))
    },
    run,
    DATA,
    COMMON,
    meaning=meaning,
)

ALL = (TABLE_3, SCHEMES, PARTS, WEIGHTS, BATCHES, WORD_VECTORS)
