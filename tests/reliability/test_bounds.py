"""`make bounds` means something: with the variable set, a kernel that reads outside is stopped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OUTSIDE = """
import numpy as np
from multitudes.kernels.checking import first_repeated
first_repeated(np.array([9], np.int32), np.zeros(4, np.bool_))
"""


def ended(cache, **variables):
    """What becomes of a process whose kernel writes behind an array."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **variables}
    return subprocess.run(
        [sys.executable, "-c", OUTSIDE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(
    os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="compiles anew: part of make bounds"
)
def test_a_kernel_that_writes_outside_is_stopped(tmp_path):
    found = ended(tmp_path, NUMBA_BOUNDSCHECK="1")
    assert found.returncode == 1
    assert "IndexError: index is out of bounds" in found.stderr


def test_the_target_keeps_its_code_apart():
    text = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if "NUMBA_BOUNDSCHECK=1" in line)
    assert "NUMBA_CACHE_DIR=" in line
