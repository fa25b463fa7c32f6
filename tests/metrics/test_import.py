"""Importing the metrics compiles nothing."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_metrics_loads_no_numba():
    code = "import sys, multitudes.metrics, multitudes.scores; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
