"""benchmarks.features runs, on a few texts, and ends with its record."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import features


@pytest.mark.slow
def test_the_last_line_is_the_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(features, "SHARED_DATA", Path("nowhere"))
    arguments = ["features", "--texts", "600", "--rounds", "1", "--no-store"]
    monkeypatch.setattr(sys, "argv", arguments)
    features.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["study"] == "features"
    rows = record["rows"]
    assert rows["catalogue"]["measures"]["texts"]["values"] == [600]
    cases = ("words", "words and pairs", "characters", "single")
    assert {f"catalogue, {case}, scikit-learn" for case in cases} <= rows.keys()
    assert rows["catalogue, words, ours, 1 thread"]["measures"]["peak_mb"]["mean"] > 0
