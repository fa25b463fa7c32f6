"""Tables and headline numbers of finished runs."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.report import RESULTS, show
from benchmarks.seq2set.contestants import GROUPS
from benchmarks.seq2set.measure import AVERAGES


def tables(data: str, runs: dict[str, Any], part: str) -> None:
    """Table 3's layout, then Table 6's; F1, but for precision, recall and P@k."""
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
        rows = [[name, *(f"{run[part][c]:.2f}" for c in columns)] for name, run in runs.items()]
        show(f"{data} ({part}), {title}", ["", *columns.values()], rows)


def summary(data: str, runs: dict[str, Any], part: str) -> dict[str, Any]:
    """The numbers a reader looks for first; means over seeds."""
    found: dict[str, Any] = {}
    for name in GROUPS["main"]:
        own = [run for key, run in runs.items() if key.partition(",")[0] == name]
        if own:
            scores = [run[part]["micro_f1"] for run in own]
            found[f"f1_{name}"] = round(sum(scores) / len(scores), 2)
            found[f"epoch_seconds_{name}"] = min(run["epoch_seconds"] for run in own)
            found["peak_gb"] = max(run.get("peak_gb", 0.0) for run in own)
    times = [found.get(f"epoch_seconds_{name}") for name in ("otseq2set", "seq2seq")]
    if all(times):
        found["epoch_ratio"] = round(times[0] / times[1], 3)
    return found | rankers(data)


def rankers(data: str) -> dict[str, float]:
    """Micro-F1 of thresholded rankers, from the stored results of `benchmarks.sets`."""
    path = RESULTS / "sets.json"
    stored = json.loads(path.read_text())["results"]["sets"] if path.exists() else {}
    models = stored.get(data, {}).get("models", {})
    return {
        f"f1_{name.lower()}_sets": round(one["rules"]["micro"]["threshold"]["micro"][2], 2)
        for name, one in models.items()
    }
