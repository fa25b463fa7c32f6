"""``python -m campaigns.predictions``: mutated prediction files, aligned and evaluated."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from campaigns import mutation
from campaigns.framework import main
from campaigns.readers import corpora
from campaigns.readers.file_campaign import FileCampaign
from campaigns.readers.targets import Target
from multitudes.data import align, read_prediction_file

READ, EVALUATED, SETS, COMPARED, CLI = "read", "evaluated", "as sets", "compared", "cli"
TABLES = (*mutation.TABLES, b"uid,label,score", b"row,rank,label,score", b"rank", b"score")


def use(how: str) -> Callable[[Path], Any]:
    """Return what is done with a prediction file."""

    def run(path: Path) -> None:
        from multitudes.metrics import compare, evaluate, evaluate_sets

        if how == CLI:
            evaluated_by_command(path)
            return
        file = read_prediction_file(path)
        if how == READ:
            return
        truth = corpora.text_dataset(5)
        aligned = align([file, file], truth, train=truth if how == COMPARED else None)
        aligned = aligned.held_to(truth.label_names or (), leave_out=False)
        found, Y = aligned.predictions, aligned.truth.Y
        if how == SETS:
            evaluate_sets(found[0], Y)
        elif how == COMPARED:
            compare(found[0], found[1], Y)
        else:
            evaluate(found[0], Y, ks=(1, 3))

    return run


def evaluated_by_command(path: Path) -> None:
    """Run ``multitudes evaluate``; an error that is not ours has exit code 1."""
    from typer.testing import CliRunner

    from multitudes.cli.app import app
    from multitudes.data import write_dataset

    truth = path.with_name("truth.jsonl")
    if not truth.exists():
        write_dataset(corpora.text_dataset(5), truth)
    found = CliRunner().invoke(app, ["evaluate", str(path), str(truth), "--json"])
    if found.exit_code == 1:
        raise RuntimeError((found.stderr or found.output).strip().splitlines()[-1:])


def all_targets() -> Iterator[Target]:
    """Yield every kind of file with everything that is done with it."""
    kinds = {
        "lines": ("predictions-lines", "predicted.jsonl", mutation.JSON),
        "csv": ("predictions-csv", "predicted.csv", TABLES),
        "tsv": ("predictions-tsv", "predicted.tsv", TABLES),
        "dataset": ("json-lines", "predicted.json", mutation.JSON),
        "fasttext": ("fasttext", "predicted.ft", mutation.FASTTEXT),
    }
    for how in (READ, EVALUATED, SETS, COMPARED, CLI):
        for kind, (corpus, file, tokens) in kinds.items():
            named = how == READ
            yield Target(f"{kind} {how}", corpus, file, use(how), tokens, named=named)
        file = "predicted.npz"
        yield Target(f"npz {how}", "npz-file", file, use(how), mutation.NPY, named=how == READ)
        yield Target(
            f"npz inside {how}", "npz-member", file, use(how), mutation.NPY, named=how == READ,
            members=corpora.all_members(),
        )  # fmt: skip


class Predictions(FileCampaign):
    """No prediction file can crash what reads, aligns and evaluates it."""

    name = "predictions"

    def __init__(self) -> None:
        super().__init__(all_targets())


if __name__ == "__main__":
    sys.exit(main(Predictions()))
