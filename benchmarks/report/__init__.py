"""What benchmarks share to report: tables on the console, means over seeds, the stored record.

    python -m benchmarks.report             # makes all tables and figures of README and docs anew
    python -m benchmarks.report --tables    # tables alone
    python -m benchmarks.report --check     # says which pages are not up to date

`pages` says how a page asks for a table, a value or the verdicts on a paper's claims.
"""

from benchmarks.report.console import at_least_one, show, show_rows, whole_numbers, with_margin
from benchmarks.report.means import mean_and_margin
from benchmarks.report.rows import Rounds, rows_of, rows_of_runs, together
from benchmarks.report.storing import RESULTS, finish

__all__ = [
    "RESULTS",
    "Rounds",
    "at_least_one",
    "finish",
    "mean_and_margin",
    "rows_of",
    "rows_of_runs",
    "show",
    "show_rows",
    "together",
    "whole_numbers",
    "with_margin",
]
