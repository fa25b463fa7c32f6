"""A short, seeded part of each campaign: no promise is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.api.calls import not_tried

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked")


@pytest.mark.parametrize(
    ("campaign", "cases"),
    [("readers", 1500), ("predictions", 300), ("store", 100), ("api", 500), ("server", 150)],
)
def test_a_short_campaign_breaks_no_promise(campaign, cases, tmp_path):
    output = tmp_path / "result.json"
    arguments = ["--cases", str(cases), "--seed", "5", "--no-reduce", "--output", str(output)]
    done = subprocess.run(
        [sys.executable, "-m", f"campaigns.{campaign}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    result = json.loads(output.read_text())["result"]
    assert result["cases"] == cases
    assert result["outcomes"]["answered"] > cases / 20
    assert result["outcomes"]["refused"] > cases / 20


def test_every_public_function_is_tried_or_excluded_with_a_reason():
    assert not_tried() == []
