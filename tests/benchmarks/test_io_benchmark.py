"""benchmarks.io runs, on a small file, and ends with its record."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import io
from benchmarks.report.storing import problems


def test_the_last_line_is_the_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["io", "--megabytes", "0.05", "--rounds", "1", "--no-peers", "--no-store"]
    monkeypatch.setattr(sys, "argv", arguments)
    io.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["study"] == "io"
    assert problems(record) == []
    formats = {"sparse-text", "json-lines", "csv", "parquet"}
    assert record["rows"].keys() == formats | {
        f"{form}, {who}" for form in formats for who in ("multitudes", "python")
    }
    speed = record["rows"]["sparse-text, multitudes"]["measures"]["mb_per_second"]
    assert speed["median"] > 0
    assert record["machine"]["versions"]["numpy"]
