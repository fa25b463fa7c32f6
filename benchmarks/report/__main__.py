"""Tables and figures of the documentation, from records: ``python -m benchmarks.report``."""

from __future__ import annotations

import argparse
import sys

from benchmarks.report.figures import draw_all
from benchmarks.report.pages import remake


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report")
    parser.add_argument("--check", action="store_true", help="change nothing, tell what is old")
    parser.add_argument("--tables", action="store_true", help="draw no figures")
    given = parser.parse_args()
    changed, problems = remake(write=not given.check)
    for page in changed:
        print(f"{page}: {'not up to date' if given.check else 'made anew'}")
    for problem in problems:
        print(problem, file=sys.stderr)
    if given.check and changed:
        print("python -m benchmarks.report makes them anew", file=sys.stderr)
    if not (given.check or given.tables):
        for path in draw_all():
            print(path)
    sys.exit(bool(problems or (given.check and changed)))


if __name__ == "__main__":
    main()
