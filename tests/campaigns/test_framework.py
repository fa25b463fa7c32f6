"""The framework finds each planted fault, attributes it to its case, and reduces it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.framework import outcome_of
from campaigns.framework.journal import open_ranges
from campaigns.framework.reducing import reduced
from multitudes.errors import DataError, ResourceError

ROOT = Path(__file__).resolve().parents[2]
FAULTS = {
    "foreign": "foreign",
    "segfault": "crash",
    "hang": "hang",
    "hog": "memory",
    "wish": "memory",
    "silent": "silent",
    "nameless": "nameless",
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked")


def campaign(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.campaigns.planted", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def output(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("planted") / "planted.json"


@pytest.fixture(scope="module")
def done(output) -> subprocess.CompletedProcess[str]:
    return campaign("--cases", "250", "--workers", "2", "--seed", "1", "--output", str(output))


@pytest.fixture(scope="module")
def result(done, output) -> dict:
    assert done.stderr == ""
    return json.loads(output.read_text())["result"]


def test_a_broken_promise_is_exit_code_1(done):
    assert done.returncode == 1


@pytest.mark.parametrize(("target", "kind"), FAULTS.items())
def test_a_planted_fault_is_found(result, target, kind):
    assert set(result["targets"][target]) == {"answered", kind}
    assert result["targets"]["good"] == {"answered": result["targets"]["good"]["answered"]}
    assert set(result["targets"]["refusing"]) == {"answered", "refused"}
    assert set(result["targets"]["absent"]) == {"skipped"}


@pytest.mark.parametrize(("target", "kind"), FAULTS.items())
def test_a_finding_is_stored_once_and_reduced(result, target, kind):
    (finding,) = (one for one in result["findings"] if one["target"] == target)
    assert finding["kind"] == kind
    folder = ROOT / finding["path"]
    assert (folder / "input.bin").read_bytes().count(b"!") == 1
    if kind != "hang":  # each try takes the time limit
        small = (folder / "reduced.bin").read_bytes()
        assert b"!" in small
        assert len(small) < 20  # b"!" given enough time


@pytest.mark.parametrize("target", ["segfault", "foreign"])
def test_a_finding_runs_again_alone(result, target):
    (finding,) = (one for one in result["findings"] if one["target"] == target)
    again = campaign(*finding["command"].split()[3:])
    assert again.returncode == 1
    assert again.stdout.startswith(f"{target}: 61 bytes")
    assert f"\n{finding['kind']}: {finding['detail']}\n" in again.stdout
    file = ROOT / finding["path"] / "reduced.bin"
    from_file = campaign("--only", target, "--input", str(file))
    assert f"{finding['kind']}: {finding['detail']}\n" in from_file.stdout


def test_a_run_goes_on_where_it_stopped_with_the_same_counts(tmp_path):
    part, whole = tmp_path / "part.json", tmp_path / "whole.json"
    arguments = ("--cases", "200", "--seed", "1", "--no-reduce", "--output")
    only = ("--only", "slow")
    campaign(*arguments, str(part), *only, "--seconds", "0.5")
    stopped = json.loads(part.read_text())["result"]
    assert 0 < stopped["cases"] < 200
    campaign(*arguments, str(part), *only, "--resume", "--workers", "2")
    campaign(*arguments, str(whole), *only)
    first, second = (json.loads(path.read_text())["result"] for path in (part, whole))
    assert first["targets"] == second["targets"] == {"slow": {"answered": 200}}


def test_all_cases_are_dealt_out_once():
    left = list(open_ranges(100, [(40, 60), (0, 7)], 16))
    numbers = [number for batch in left for number in batch]
    assert numbers == [*range(7, 40), *range(60, 100)]
    assert max(map(len, left)) == 16


def test_reducing_keeps_what_is_needed():
    content = bytes(range(256)) * 4

    def fails(part: bytes) -> bool:
        return b"\x07" in part and part.count(b"\xff") >= 2

    small = reduced(content, fails, seconds=5)
    assert sorted(small) == [7, 255, 255]


def test_errors_of_ours_are_refusals_even_where_they_are_other_errors_too():
    assert outcome_of(DataError("no")).kind == "refused"
    assert outcome_of(ResourceError("no")).kind == "refused"
    assert outcome_of(MemoryError()).kind == "memory"
    assert outcome_of(ValueError("no")).kind == "foreign"
