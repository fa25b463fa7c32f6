"""Tables and headline numbers of finished runs."""

from __future__ import annotations

from statistics import mean, stdev
from typing import Any

from benchmarks.report import show
from benchmarks.report.records import Records
from benchmarks.report.rows import middle
from benchmarks.seq2set.contestants import GROUPS
from benchmarks.seq2set.measure import AVERAGES

RANKERS = ("XRLinear", "Disentangled")


def tables(data: str, runs: dict[str, Any], part: str) -> None:
    """Table 3's layout, then Table 6's: means over seeds of F1, precision, recall and P@k."""
    micro = {"micro_precision": "P", "micro_recall": "R", "micro_f1": "F1"}
    micro |= {
        "threshold_best_micro_f1": "threshold",
        "threshold_any_micro_f1": "any step",
        "mean_size": "size",
        "P@1": "P@1",
        "P@5": "P@5",
    }
    others = {f"{average}_f1": average for average in AVERAGES[1:]}
    for title, columns in (("micro averages", micro), ("other averages", others)):
        rows = [
            [
                f"{name}, {scheme}" if scheme else name,
                str(len(own)),
                *(over([run[part][c] for run in own], spread=c == "micro_f1") for c in columns),
            ]
            for (name, scheme), own in over_seeds(runs).items()
        ]
        show(f"{data} ({part}), {title}", ["", "seeds", *columns.values()], rows)


def over(values: list[float], *, spread: bool) -> str:
    """The mean over seeds, and where asked for and known, the standard deviation."""
    known = spread and len(values) > 1
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if known else "")


def over_seeds(runs: dict[str, Any]) -> dict[tuple[str, str | None], list[Any]]:
    """Runs that differ in their seed alone, by contestant and assignment scheme.

    A scheme that was asked for and one that was chosen from the data are one and the same.
    """
    found: dict[tuple[str, str | None], list[Any]] = {}
    for key, run in runs.items():
        words = key.partition(",")[0].split()
        name = " ".join(word for word in words if not word.startswith("loss.scheme="))
        found.setdefault((name, run["scheme"]), []).append(run)
    return found


def summary(data: str, runs: dict[str, Any], part: str) -> dict[str, Any]:
    """The numbers a reader looks for first; means over seeds.

    With runs of both assignment schemes, those of the one that is better on validation.
    """
    found: dict[str, Any] = {}
    rows = over_seeds(runs)
    for name in GROUPS["main"]:
        schemes = [own for (contestant, _), own in rows.items() if contestant == name]
        if schemes:
            own = max(schemes, key=lambda runs: mean_f1(runs, "validation"))
            found[f"f1_{name}"] = round(mean_f1(own, part), 2)
            found[f"epoch_seconds_{name}"] = min(run["epoch_seconds"] for run in own)
            found["peak_gb"] = max(run.get("peak_gb", 0.0) for run in own)
    times = [found.get(f"epoch_seconds_{name}") for name in ("otseq2set", "seq2seq")]
    if all(times):
        found["epoch_ratio"] = round(times[0] / times[1], 3)
    return found | rankers(data)


def mean_f1(runs: list[Any], part: str) -> float:
    """Micro-F1, the mean over seeds."""
    return mean(run[part]["micro_f1"] for run in runs)


def rankers(data: str) -> dict[str, float]:
    """Micro-F1 of thresholded rankers, from the stored results of `benchmarks.sets`."""
    rows = Records()["sets"].rows
    names = {model: f"{data}, {model}, tuned for micro, threshold" for model in RANKERS}
    return {
        f"f1_{model.lower()}_sets": round(middle(rows[name]["measures"]["micro_f1"]), 2)
        for model, name in names.items()
        if name in rows
    }
