"""Files of a few KB or MB that want gigabytes or minutes: each is refused, quickly and by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS, BYTES = 2.0, 200_000_000

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from /proc"
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    command = [sys.executable, "-m", "tests.reliability.bombs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_ends_within_two_seconds(found):
    assert {name: row[0] for name, row in found.items() if row[0] > SECONDS} == {}


def test_each_ends_within_200_mb(found):
    assert {name: row[1] for name, row in found.items() if row[1] > BYTES} == {}


def test_each_is_refused_by_an_error_of_ours_that_names_the_file(found):
    errors = ("DataError: ", "ResourceError: ")
    assert {name: row[2] for name, row in found.items() if not row[2].startswith(errors)} == {}
    assert {name: row[2] for name, row in found.items() if Path(row[3]).name not in row[2]} == {}
