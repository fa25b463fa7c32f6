"""The tables of docs/which-model.md: ``python -m benchmarks.which_model_tables`` makes them anew.

They come from stored records. A table stands in the page between ``<!-- table: NAME -->`` and
``<!-- end of table -->``; a test holds the page to what is made here.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.report import RESULTS

PAGE = ROOT / "docs" / "which-model.md"
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def record(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def linear_models() -> dict[str, dict[str, Any]]:
    """By data set, and by model."""
    names = ("which-model", "which-model-large")
    return {
        source: found for name in names for source, found in record(name)["results"]["sets"].items()
    }


def sizes(source: str) -> str:
    """How large a data set is, from whichever record says so."""
    known = record("trees")["results"]["sets"]
    if source in known:
        found = known[source]["sizes"]
        instances = found["instances"]
    else:  # a tenth was held out for calibration there
        found = record("sets")["results"]["sets"][source]["sizes"]
        instances = found["instances"] + found["validation"]
    return f"{instances:,} texts, {found['labels']:,} labels"


def linear() -> str:
    """The linear models on three data sets."""
    sets = linear_models()
    names = dict.fromkeys(model for found in sets.values() for model in found)
    rows = [[f"`{name}`", *(linear_cell(sets[s].get(name)) for s in sets)] for name in names]
    return table(["", *(f"{source}: {sizes(source)}" for source in sets)], rows)


def linear_cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "too many pairs"
    time, size = found["train_cpu_s"], found["model_mb"]
    return f"**{found['p1']:.1f}** / {found['p5']:.1f} · {time:.1f} s · {size:.0f} MB"


def encoders() -> str:
    """A tree over words, a tree over words and embeddings, and PRIME."""
    links, deps = record("prime-lf-msdocs-links-features"), record("prime-debian-deps-features")
    prime_links = record("prime-lf-msdocs-links-source-dropout")["runs"]["prime, seed 0"]
    prime_deps = record("prime-debian-deps")["runs"]["prime, seed 0"]
    rows = [
        ("`xr-linear` over words", "two cores", links["runs"]["TF-IDF"], deps["runs"]["TF-IDF"]),
        ("`xr-linear`, words and embeddings", "two cores", links["runs"]["both"], None),
        ("`prime`", "one H200", prime_links, prime_deps),
    ]
    columns = ["", "on", "lf-msdocs-links: 191,611 labels", "debian-deps: 40,623 labels"]
    return table(columns, [[name, on, encoder_cell(a), encoder_cell(b)] for name, on, a, b in rows])


def encoder_cell(run: dict[str, Any] | None) -> str:
    if run is None:
        return "not measured"
    seconds = run.get("train_seconds", run.get("seconds"))
    return f"**{run['P@1']:.1f}** / {run['P@5']:.1f} · {run['R@100']:.1f} · {seconds:.0f} s"


def unseen() -> str:
    """Labels that training never saw."""
    found = record("prime-lf-msdocs-links-unseen")["unseen"]["source_dropout=0.5"]
    names = {
        "PRIME, 0 examples": "`prime-lite`, by the label's text",
        "PRIME, 1 examples": "`prime-lite`, text and one example",
        "PRIME, 5 examples": "`prime-lite`, text and five examples",
        "text encoder, untrained": "the encoder before training",
    }
    rows = [
        [shown, f"{found[name]['P@1']:.1f}", f"{found[name]['R@100']:.1f}"]
        for name, shown in names.items()
    ]
    return table(["", "P@1", "R@100"], rows)


def sets() -> str:
    """Label sets made of rankings, and generated ones."""
    made = record("sets")["results"]["summary"]
    rows = []
    for name in ("eurlex-titles", "debian-debtags"):
        runs = record(f"seq2set-{name}")["runs"]
        generated = [run["test"] for key, run in runs.items() if key.startswith("otseq2set, seed")]
        ours = made[f"{name}/disentangled"]
        micro = statistics.mean(run["micro_f1"] for run in generated)
        example = statistics.mean(run["example_f1"] for run in generated)
        rows.append(
            [
                name,
                f"{ours['micro_f1_fixed']:.1f} / {ours['example_f1_fixed']:.1f}",
                f"{ours['micro_f1_sets']:.1f} / {ours['example_f1_sets']:.1f}",
                f"{micro:.1f} / {example:.1f}",
            ]
        )
    columns = ["micro-F1 / example-F1", "best k labels for all", "calibrated sets", "`otseq2set`"]
    return table(columns, rows)


def groups() -> str:
    """Labels given to groups of texts alone."""
    found = record("groups-table2-eurlex-titles")["rows"]
    ways = ("R-4", "R-10", "C")
    names = {
        "every text's own labels are known": ["oracle"] * 3,
        "all labels of a group for all its texts": [f"{way}, baseline" for way in ways],
        "`--groups`, a label listed for each text that has it": [
            f"{way}, contrast, lists" for way in ways
        ],
        "the same, `--set groups.rounds=3`": [f"{way}, rounds, lists" for way in ways],
        "`--groups`, a label listed once": [f"{way}, contrast, sets" for way in ways],
    }
    rows = [
        [shown, *(f"{found[row]['measures']['P@1']['mean']:.1f}" for row in chosen)]
        for shown, chosen in names.items()
    ]
    return table(
        ["P@1, eurlex-titles", "groups of 4", "groups of 10", "groups of 66 that are alike"], rows
    )


def growth() -> str:
    """Up to a million labels."""
    rows = [
        [
            f"{size['labels']:,}",
            f"{size['seconds']:.1f} s",
            f"{size['peak_mb'] / 1000:.1f} GB",
            f"{size['model_mb']:.0f} MB",
        ]
        for size in record("growth")["results"]["sizes"]
    ]
    return table(["labels, and as many instances", "training", "peak memory", "model"], rows)


TABLES: dict[str, Callable[[], str]] = {
    made.__name__: made for made in (linear, encoders, unseen, groups, sets, growth)
}


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    return MARKED.sub(lambda found: found[1] + "\n" + TABLES[found[2]]() + "\n" + found[3], text)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
