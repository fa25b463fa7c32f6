"""What a number was measured by and on: question, command, machine, versions, commit, date."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("multitudes", "numpy", "scipy", "scikit-learn", "numba", "orjson", "pyarrow")


# Where git does not reach, the commit that is measured is said by whoever sent the code there.
COMMIT = "MULTITUDES_COMMIT"
# What may change without changing what is measured: records are stored here while others wait.
NO_CODE = (":!benchmarks/results", ":!docs", ":!*.md")


def signature() -> dict[str, Any]:
    """What every record ends with: the question, the command that answers it, and the machine."""
    return {"question": question(), "command": command(), "machine": describe()}


def question() -> str:
    """The first line of the running benchmark's documentation."""
    text = getattr(sys.modules["__main__"], "__doc__", None) or ""
    return text.strip().partition("\n")[0].partition(" ``")[0]


def command() -> str:
    """How the running benchmark was started."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    name = spec.name.removesuffix(".__main__") if spec is not None else Path(sys.argv[0]).name
    return shlex.join(["python", "-m", name, *sys.argv[1:]])


def describe() -> dict[str, Any]:
    """Machine, versions, commit and date, for storing beside the numbers."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "memory_gb": memory_gb(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions(),
        "commit": commit(),
    }


def card_name() -> str | None:
    """The GPU that torch would take, if there is one."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def cpu_model() -> str:
    """The processor by name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gb() -> float | None:
    """Physical memory, where the system tells."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def versions() -> dict[str, str]:
    """Installed versions of the packages that matter."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit of the checkout, with a + where code differs from it."""
    if given := os.environ.get(COMMIT):
        return given
    try:
        head = _git("rev-parse", "--short=10", "HEAD")
        changed = _git("status", "--porcelain", "--", ".", *NO_CODE)
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+" if changed else head


def _git(*arguments: str) -> str:
    shown = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return shown.stdout.strip()


if __name__ == "__main__":
    import json

    json.dump(describe(), sys.stdout, indent=2)
    print()
