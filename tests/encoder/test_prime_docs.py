"""The examples of docs/prime.md run, and its tables are of stored records."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "prime.md").read_text()
RESULTS = ROOT / "benchmarks" / "results"
RECORDS = {
    "0.5": "prime-lf-msdocs-links-source-dropout.json",
    "0.1": "prime-lf-msdocs-links.json",
    "": "prime-lf-msdocs-links.json",
}
COLUMNS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "R@100")


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, _, new_labels, _, why = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    exec(new_labels, names)
    exec(why, names)
    assert names["found"].labels.shape == (1, 3)
    assert names["model"].n_labels_ == 43
    assert len(names["why"].nearest.instances) > 0


def test_the_table_is_of_the_stored_records():
    rows = re.findall(
        r"^\| `(prime|prime-lite|dexa|ngame|dpr)`[^|]*\| *([0-9.]*) *\|(.*)\|$", PAGE, re.M
    )
    rows = [row for row in rows if row[2].count("|") == len(COLUMNS) - 1]
    assert len(rows) == 7
    for name, dropout, cells in rows:
        run = json.loads((RESULTS / RECORDS[dropout]).read_text())["runs"][f"{name}, seed 0"]
        shown = [float(cell.strip(" *")) for cell in cells.split("|")]
        assert shown == [run[column] for column in COLUMNS], name
