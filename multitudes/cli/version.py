"""multitudes version: what is running, for bug reports."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

from multitudes.cli import options

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "safetensors", "orjson", "zstandard", "typer",
    "rich", "pyarrow", "torch", "transformers", "sentence-transformers", "accelerate", "ray",
)  # fmt: skip


def version(json: options.Json = False) -> None:
    """Print versions and the machine, for bug reports.

    Example:  multitudes version --json
    """
    from multitudes.cli.printing.show import console, show_json, table
    from multitudes.deep.processor import describe
    from multitudes.version import __version__

    facts = {
        "multitudes": __version__,
        "python": platform.python_version(),
        **{name: _version_of(name) for name in PACKAGES},
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu_name(),
        "cores": str(_n_cores()),
        "bfloat16": describe(),
    }
    if json:
        show_json(facts)
    else:
        rows = [[name, value or "not installed"] for name, value in facts.items()]
        console().print(table(["", ""], rows, left=2))


def _version_of(package: str) -> str | None:
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return None


def _cpu_name() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _n_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
