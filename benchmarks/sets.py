"""How good are label sets made from rankings? ``python -m benchmarks.sets --data DIR ...``.

XRLinear, by itself and under ``Disentangled`` (overlap 2), with default settings on word TF-IDF.
A tenth of the training instances, drawn at random, is kept from the models. On it scores are
calibrated (isotonic) and each rule is tuned, for micro-F1 and for example-based F1:

- fixed size: the best k labels of every instance, k from 1 to 30;
- threshold: all labels of at least one probability; "threshold, >= 1" takes the best label of
  every instance in any case;
- label-thresholds: a probability for each label, drawn towards the common one;
- expected-f1: the number of labels with the largest expected F1, after Ye et al. (2012).

Models are not trained again on the whole. The test split is looked at once; nothing is chosen on
it. Numbers are percentages. The reliability error (bins of equal mass) is that of the scores as
they are, and after each calibration, over the five best labels of each instance and over all 50
candidates. A folder without a ``tst`` file is tested on ``dev``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import finish, show
from benchmarks.sets_study import AVERAGES, FIXED, METRICS, Plan, study
from multitudes.errors import MultitudesError


def test_split(source: Path) -> str:
    """The files of a folder to test on."""
    return "tst" if any(source.glob("tst.*")) else "dev"


def show_result(name: str, result: dict[str, Any]) -> None:
    """The tables of one data set."""
    columns = ("", "labels", "micro-P", "micro-R", *(f"{average}-F1" for average in AVERAGES))
    for model, found in result["models"].items():
        for metric, rules in found["rules"].items():
            rows = [rule_row(rule, one) for rule, one in rules.items()]
            title = f"{name} ({result['test_split']}), {model}, tuned for {metric}-F1"
            show(title, columns, rows)
    errors = [
        (f"{model}, {calibration}", *(f"{100 * error:.2f}" for error in one.values()))
        for model, found in result["models"].items()
        for calibration, one in found["reliability_error"].items()
    ]
    show(f"{name}: reliability error, %", ("calibration", "all listed", "five best"), errors)


def rule_row(rule: str, one: dict[str, Any]) -> tuple[str, ...]:
    """Mean size, precision, recall and F1 of a rule's sets."""
    f1 = (f"{one[average][2]:.2f}" for average in AVERAGES)
    precision, recall = (f"{one['micro'][part]:.2f}" for part in (0, 1))
    return (rule, f"{one['size']:.2f}", precision, recall, *f1)


def summary(sets: dict[str, Any]) -> dict[str, Any]:
    """Micro-F1 of thresholds and example-F1 of expected sizes, against the best fixed size."""
    found: dict[str, Any] = {}
    for name, result in sets.items():
        for model, one in result["models"].items():
            rules = one["rules"]
            found[f"{name}/{model.lower()}"] = {
                "micro_f1_fixed": rules["micro"][FIXED]["micro"][2],
                "micro_f1_sets": rules["micro"]["threshold"]["micro"][2],
                "example_f1_fixed": rules["example"][FIXED]["example"][2],
                "example_f1_sets": rules["example"]["expected-f1"]["example"][2],
                "reliability_error_before": one["reliability_error"]["none"]["top 5"],
                "reliability_error_after": one["reliability_error"]["isotonic"]["top 5"],
            }
    return found


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Plan()
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--seed", type=int, default=default.random_state)
    parser.add_argument("--threads", type=int, default=default.n_jobs)
    parser.add_argument("--candidates", type=int, default=default.candidates)
    parser.add_argument("--no-store", action="store_true", help="only print")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    results: dict[str, Any] = {
        "random_state": given.seed, "n_jobs": given.threads, "metrics": METRICS, "sets": {}
    }  # fmt: skip
    try:
        for source in given.data:
            plan = Plan(
                candidates=given.candidates,
                test_split=test_split(source),
                random_state=given.seed,
                n_jobs=given.threads,
            )
            results["sets"][source.name] = study(source, plan)
            show_result(source.name, results["sets"][source.name])
    except MultitudesError as error:
        sys.exit(str(error))
    results["summary"] = summary(results["sets"])
    finish("sets", results, store=not given.no_store)


if __name__ == "__main__":
    main()
