"""Write the lock: every package that CI installs, with its version and the hash of its file.

::

    make install && .venv/bin/python -m supply.lock

It holds for Linux on x86-64 with Python 3.11, and says what is installed where it is made: to take
newer versions, upgrade them there first, and run the tests. pip is asked which file it would take
for each, so indexes and mirrors are those of its own settings, and none is written down.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from supply.fits_here import fits_here
from supply.packages import Package, needed

LOCK = Path(__file__).parent / "requirements.txt"
HEAD = """\
# Made by  python -m supply.lock  for Linux on x86-64 with Python 3.11; do not edit.
# Install it with  pip install --require-hashes --no-deps -r supply/requirements.txt
# torch is the build for CPUs, without gigabytes of CUDA: pip must be told where to find it.
"""


def locked_hashes() -> dict[tuple[str, str], str]:
    """SHA-256 by name and version, of the lock as it is: a version keeps the hash it had."""
    text = LOCK.read_text(encoding="utf-8") if LOCK.exists() else ""
    found = re.findall(r"^([\w.-]+)==(\S+) \\\n +--hash=sha256:(\w{64})", text, re.MULTILINE)
    return {(name, version): sha256 for name, version, sha256 in found}


def hashes(packages: list[Package]) -> dict[str, str]:
    """SHA-256 of the file that pip takes for each package, by name."""
    if not packages:
        return {}
    pins = [f"{one.name}=={one.version}" for one in packages]
    command = [
        sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps",
        "--only-binary", ":all:", "--quiet", "--report", "-", *pins,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"pip could not find all packages:\n{done.stderr[-3000:]}")
    return {
        canonicalize_name(item["metadata"]["name"]): _hash_of(item["download_info"])
        for item in json.loads(done.stdout)["install"]
    }


def _hash_of(download: dict[str, Any]) -> str:
    return str(download["archive_info"]["hashes"]["sha256"])


def line_of(package: Package, sha256: str) -> str:
    """The lines of a package in the lock."""
    return f"{package.name}=={package.version} \\\n    --hash=sha256:{sha256}\n"


def main() -> None:
    """Write the lock."""
    if not fits_here():
        raise SystemExit("the lock is made on Linux on x86-64 with Python 3.11")
    packages, known = needed(), locked_hashes()
    found = hashes([one for one in packages if (one.name, one.version) not in known])
    lines = [
        line_of(one, known.get((one.name, one.version)) or found[one.name]) for one in packages
    ]
    LOCK.write_text(HEAD + "".join(lines), encoding="utf-8")
    sys.stdout.write(f"{LOCK}: {len(packages)} packages\n")


if __name__ == "__main__":
    main()
