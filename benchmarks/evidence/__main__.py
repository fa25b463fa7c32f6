"""Studies behind the verdicts on the papers' claims: ``python -m benchmarks.evidence run NAME``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.evidence.queue import run_side_by_side, work
from benchmarks.evidence.record import gather, stored_runs
from benchmarks.evidence.studies import STUDIES
from benchmarks.evidence.study import jobs_of
from benchmarks.report import show


def main() -> None:
    given = parse()
    if given.verb == "list":
        rows = [[s.name, s.question, str(len(s.rows)), str(s.seeds)] for s in STUDIES.values()]
        show("studies", ["", "question", "rows", "seeds"], rows)
    elif given.verb == "work":
        work(Path(given.out), card_share=given.card_share)
    elif given.verb == "gather":
        for path in gather(Path(given.folder), Path(given.data), [*STUDIES.values()]):
            print(path)
    else:
        sources = {folder.name: folder for folder in map(Path, given.data)}
        jobs = [
            job
            for name in given.studies
            for data in sources
            if data in STUDIES[name].data
            for job in jobs_of(STUDIES[name], data, rows=given.rows, seeds=given.seeds)
        ]
        if not given.again:
            stored = stored_runs(STUDIES.values())
            jobs = [job for job in jobs if job.file_name not in stored]
        if given.seeds_first:
            jobs.sort(key=lambda job: job.seed)
        run_side_by_side(
            jobs,
            sources,
            Path(given.out),
            workers=given.workers,
            seconds=given.seconds,
            card_share=given.card_share,
        )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="all studies")
    run = verbs.add_parser("run", help="run studies; what is done is not done again")
    run.add_argument("studies", nargs="+", choices=STUDIES, metavar="STUDY")
    run.add_argument(
        "--data", nargs="+", required=True, help="data folders, as they are or prepared"
    )
    run.add_argument("--out", default="tmp/evidence", help="folder for results")
    run.add_argument("--workers", type=int, default=1, help="processes side by side")
    run.add_argument("--seconds", type=float, default=1e9, help="when to stop")
    run.add_argument("--rows", nargs="+", default=[], help="by default all")
    run.add_argument("--seeds", type=int, help="how many; by default the study's")
    run.add_argument(
        "--seeds-first", action="store_true", help="one seed of all studies before the next seed"
    )
    run.add_argument("--again", action="store_true", help="also what records have already")
    worker = verbs.add_parser("work", help="a worker of `run`")
    worker.add_argument("out")
    for parser_of_both in (run, worker):
        parser_of_both.add_argument(
            "--card-share", type=float, help="part of a GPU's memory that a worker may take"
        )
    gathering = verbs.add_parser("gather", help="make or complete records of what was run")
    gathering.add_argument("folder")
    gathering.add_argument("--data", default="../shared/data", help="where the data sets are")
    return parser.parse_args()


if __name__ == "__main__":
    main()
