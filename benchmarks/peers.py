"""Other libraries, each in a virtual environment of its own under ``.peers/``, made on demand.

``python -m benchmarks.peers pecos omikuji napkinxc`` makes them beforehand.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT

FOLDER = ROOT / ".peers"

# What pip installs for each. libpecos was built against numpy 1.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "pecos": ("libpecos==1.2.8", "numpy<2"),
    "omikuji": ("omikuji==0.5.2", "numpy", "scipy"),
    "napkinxc": ("napkinxc==0.7.2",),
    "annif": ("annif[omikuji]==1.4.3",),
}
# The name pip knows the library by, for its version.
DISTRIBUTIONS = {
    "pecos": "libpecos",
    "omikuji": "omikuji",
    "napkinxc": "napkinxc",
    "annif": "annif",
}

# Data that a peer would download when it first runs: the wheel that has it, where, and where the
# peer looks for it.
DATA = {
    "annif": (
        "llama-index-core==0.14.25",
        "llama_index/core/_static/nltk_cache/tokenizers/punkt_tab/",
        "nltk_data/tokenizers/punkt_tab",
    ),
}

_ONCE = """
import json, sys
order = json.load(sys.stdin)
answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
scope = dict(order["arguments"])
exec(order["code"], scope)
json.dump(scope["result"], answers)
"""


class PeerError(RuntimeError):
    """A peer's environment could not be made, or its code failed."""


def python_of(peer: str) -> Path:
    """The Python that has the peer installed; its environment is made if it is not there."""
    if peer not in REQUIREMENTS:
        raise PeerError(f"no peer {peer!r}; known: {', '.join(REQUIREMENTS)}")
    folder = FOLDER / peer
    binary = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not binary.exists():
        _make(peer, folder, binary)
    return binary


def _make(peer: str, folder: Path, binary: Path) -> None:
    print(f"making {folder.relative_to(ROOT)} ...", file=sys.stderr)
    install = [str(binary), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([*install, *REQUIREMENTS[peer]])
        if peer in DATA:
            _take_data(binary, *DATA[peer], folder)
    except PeerError:
        shutil.rmtree(folder, ignore_errors=True)  # half an environment would look whole
        raise


def _take_data(binary: Path, package: str, inside: str, at: str, folder: Path) -> None:
    """Unpack a folder of a package's wheel into a peer's environment, and nothing else of it."""
    with tempfile.TemporaryDirectory() as wheels:
        _run([str(binary), "-m", "pip", "download", "--quiet", "--no-deps", "-d", wheels, package])
        with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if name.startswith(inside) and not name.endswith("/"):
                    target = folder / at / name.removeprefix(inside)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(wheel.read(name))


def _run(command: list[str], given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def run_in(peer: str, code: str, arguments: Mapping[str, Any]) -> Any:
    """Run a snippet once in a peer's environment; what it leaves in ``result`` comes back as JSON.

    `arguments` are its globals. For timing, use `benchmarks.timing`.
    """
    order = json.dumps({"code": code, "arguments": dict(arguments)})
    return json.loads(_run([str(python_of(peer)), "-c", _ONCE], order))


def version_of(peer: str) -> str:
    """The installed version of a peer."""
    code = f"from importlib.metadata import version; print(version({DISTRIBUTIONS[peer]!r}))"
    return _run([str(python_of(peer)), "-c", code]).strip()


if __name__ == "__main__":
    for name in sys.argv[1:] or REQUIREMENTS:
        python_of(name)
        print(f"{name} {version_of(name)}")
