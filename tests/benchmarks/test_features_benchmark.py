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
    assert record["benchmark"] == "features"
    results = record["results"]["catalogue"]
    assert results["texts"] == 600
    assert {"words", "words and pairs", "characters", "single"} <= results.keys()
    assert results["words"]["memory"]["peak_mb"] > 0
