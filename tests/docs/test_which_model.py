"""docs/which-model.md: its sentences agree with the stored records, as its tables do."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.report.records import Records
from benchmarks.report.rows import middle

PAGE = (Path(__file__).parents[2] / "docs" / "which-model.md").read_text(encoding="utf-8")
RECORDS = Records()
LINEAR = RECORDS["which-model"].rows | RECORDS["which-model-large"].rows
SETS = ("debian-debtags", "eurlex-titles", "debian-deps")


def of(name: str, measure: str) -> float:
    return middle(LINEAR[name]["measures"][measure])


def best(data: str) -> str:
    models = [name for name in LINEAR if name.startswith(data)]
    return max(models, key=lambda name: of(name, "P@1")).removeprefix(f"{data}, ")


def test_what_overlap_gains_is_as_the_page_says():
    plain, overlap = ([f"{data}, xr-linear{more}" for data in SETS] for more in ("", ", overlap 2"))
    pairs = list(zip(plain, overlap, strict=True))
    gains = [of(b, "P@1") - of(a, "P@1") for a, b in pairs]
    assert f"{min(gains):.1f} to {max(gains):.1f} points of P@1 more" in PAGE
    costs = [of(b, "train_cpu_s") / of(a, "train_cpu_s") for a, b in pairs]
    assert [round(cost) for cost in costs] == [2, 2, 2], "twice the training"


def test_what_calibrated_sets_gain_is_as_the_page_says():
    def f1(data: str, kind: str, rule: str) -> float:
        row = f"{data}, Disentangled, tuned for {kind}, {rule}"
        return middle(RECORDS["sets"].measure(row, f"{kind}_f1"))

    rules = {"micro": "threshold", "example": "expected-f1"}
    gains = [
        f1(data, kind, rule) - f1(data, kind, "fixed size")
        for data in ("eurlex-titles", "debian-debtags")
        for kind, rule in rules.items()
    ]
    low, high = re.findall(r"by (\d+) to (\d+) points of F1", PAGE)[0]
    assert int(low) == round(min(gains)), gains
    assert int(high) == round(max(gains)), gains


def test_what_is_said_of_one_vs_all_holds():
    assert best("eurlex-titles") == "one-vs-all"
    eurlex = [of(f"eurlex-titles, {name}", "train_cpu_s") for name in ("one-vs-all", "xr-linear")]
    assert f"for {eurlex[0] / eurlex[1]:.0f} times the training of one tree" in PAGE
    debtags = [of(f"debian-debtags, {name}", "P@1") for name in ("one-vs-all", "xr-linear")]
    assert abs(debtags[0] - debtags[1]) < 1
    assert best("debian-debtags") == "parabel"
