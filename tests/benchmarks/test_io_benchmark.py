"""benchmarks.io runs, on a small file, and ends with its record."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import io


def test_the_last_line_is_the_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["io", "--megabytes", "0.05", "--rounds", "1", "--no-peers", "--no-store"]
    monkeypatch.setattr(sys, "argv", arguments)
    io.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["benchmark"] == "io"
    assert record["results"].keys() == {"sparse-text", "json-lines", "csv", "parquet", "peers"}
    assert record["results"]["sparse-text"]["mb_per_second"].keys() == {"multitudes", "python"}
    assert record["machine"]["versions"]["numpy"]
