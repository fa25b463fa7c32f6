"""OTSeq2Set, its ablations and the sequence models it is compared with, on one data set.

    python -m benchmarks.seq2set --data ../shared/data/eurlex-titles --vectors V --prepare FOLDER
    python -m benchmarks.seq2set --data FOLDER --out RESULTS

The first command makes compact files of texts, labels and the word vectors that are needed, which
the second (on a machine with a GPU, say) reads; the second takes a data set's own folder as well.
Models learn from nine tenths of the training split; the epoch that is best on the last tenth is
kept, and the test split is looked at once. Thresholded rankers come from `benchmarks.sets`, which
keeps a tenth as well. Each finished run is stored at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import card_name
from benchmarks.report.rows import split_runs
from benchmarks.report.storing import checksum, record_of, written
from benchmarks.seq2set.contestants import GROUPS, contestant
from benchmarks.seq2set.measure import train_and_measure
from benchmarks.seq2set.problem import FILE, Problem, prepare
from benchmarks.seq2set.tables import summary, tables
from multitudes import progress
from multitudes.seq2set import Seq2SetTraining, WordsConfig


def main() -> None:
    given = parse()
    if given.prepare:
        problem = prepare(Path(given.data), vectors=given.vectors, max_length=given.max_length)
        problem.save(Path(given.prepare))
        return
    problem = load(given)
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    runs: dict[str, Any] = {}
    with progress.shown(given.verbose):
        for name in given.contestants:
            for random_state in range(given.first_seed, given.first_seed + given.seeds):
                runs[f"{name}, seed {random_state}"] = run = one_run(
                    name, problem, given, random_state
                )
                print(f"{name}: {json.dumps({k: v for k, v in run.items() if k != 'curve'})}")
                sys.stdout.flush()
                store(out, problem, given, runs)
    part = "validation" if given.validate else "test"
    tables(problem.name, runs, part)
    print(json.dumps(summary(problem.name, runs, part)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="a data set, or a prepared folder")
    parser.add_argument("--prepare", help="write compact files into this folder, and end")
    parser.add_argument("--vectors", help="file of word vectors; prepared folders have their own")
    parser.add_argument("--out", default="tmp/seq2set", help="folder for results")
    parser.add_argument("--name", help="of the file of results; by default the data's")
    parser.add_argument("--max-length", type=int, default=256, help="words kept of a text")
    parser.add_argument("--dim", type=int, help="width of word vectors; by default the file's")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--first", type=int, help="only this many instances, for a quick look")
    parser.add_argument("--compile", choices=("off", "on", "graphs"), default="off")
    parser.add_argument("--validate", action="store_true", help="leave the test split alone")
    parser.add_argument("--validate-every", type=int, default=1, help="epochs")
    parser.add_argument("--set", nargs="+", default=[], help="settings, e.g. network.hidden=256")
    parser.add_argument(
        "--contestants",
        nargs="+",
        default=["main"],
        help=f"presets, or groups ({', '.join(GROUPS)}); settings may follow a preset's name: "
        "'bm loss.scheme=all'",
    )
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    given.contestants = [name for one in given.contestants for name in GROUPS.get(one, [one])]
    return given


def load(given: argparse.Namespace) -> Problem:
    folder = Path(given.data)
    if (folder / FILE).exists():
        problem = Problem.load(folder)
    else:
        problem = prepare(folder, vectors=given.vectors, max_length=given.max_length)
    return problem.first(given.first) if given.first else problem


def one_run(
    name: str, problem: Problem, given: argparse.Namespace, random_state: int
) -> dict[str, Any]:
    model = contestant(
        name,
        words=WordsConfig(vectors=problem.vectors, dim=given.dim, max_length=given.max_length),
        training=Seq2SetTraining(
            epochs=given.epochs,
            learning_rate=given.learning_rate,
            precision=given.precision,
            evaluate_every=given.validate_every,
        ),
        batch_size=given.batch_size,
        changes=[f"network.compile={given.compile}", *given.set],
        random_state=random_state,
    )
    return train_and_measure(model, problem, look_at_test=not given.validate)


def store(out: Path, problem: Problem, given: argparse.Namespace, runs: dict[str, Any]) -> None:
    settings = {k: v for k, v in vars(given).items() if k not in ("out", "data", "vectors")}
    name, data = given.name or f"seq2set-{problem.name}", {problem.name: checksum(Path(given.data))}
    rows, curves = split_runs(runs)
    record = record_of(name, rows, data=data, settings=settings, raw=curves, card=card_name())
    written(record, out / f"{name}.json")


if __name__ == "__main__":
    main()
