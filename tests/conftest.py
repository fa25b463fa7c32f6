"""Shared by all tests: where the real data lives, and a small known data set."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

# Before torch is imported: sums over other numbers of threads differ in the last bit, and tests
# compare what this process computes with what its children do.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pytest
from hypothesis import settings

import multitudes.deep  # noqa: F401  before a test imports torch
from multitudes import stopping

# A shell's background job ignores Ctrl-C, and its children inherit that; tests of Ctrl-C need it.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The first example of a test may wait for a kernel to compile.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# A runner may say how wide its terminal is; what tests read is written to pipes of no width.
os.environ.pop("COLUMNS", None)

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    """Models that were checked are remembered: tests must not find what other runs have left."""
    os.environ["MULTITUDES_CACHE"] = tempfile.mkdtemp(prefix="multitudes-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what was remembered."""
    shutil.rmtree(os.environ["MULTITUDES_CACHE"], ignore_errors=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked `gpu` are skipped where there is none."""
    if item.get_closest_marker("gpu") is not None:
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("no CUDA device")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A command that ran in this process handles its signals: the next test wants Python's own."""
    if stopping._installed:
        stopping.let_go()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stopping._installed = False


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """The folder of a real data set; skips with a reason where it is absent."""

    def folder(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.is_dir():
            pytest.skip(f"real data not found: {path}")
        return path

    return folder
