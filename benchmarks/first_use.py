"""What the first use on a machine costs: compiling, importing, and memory before any data.

    python -m benchmarks.first_use

Each number is of a fresh process. *First use* has an empty cache of compiled kernels: it fits and
predicts a small tree (3,000 instances, 600 labels), or trains and tags with a tagger over the
texts of the catalogue; the same process with the cache then filled is *later use*, and the
difference of the two is what compiling costs. Once with the second process that compiles ahead
(`multitudes.kernels.ahead`), once without. CPU seconds are those of the first process alone, which
waits while the second one compiles what it needs: on a busy machine they say more than the clock.
Imports are measured with all files in the system's cache, and with Python's byte code, which pip
makes when it installs: PYTHONDONTWRITEBYTECODE is not passed on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.report import Rounds, finish, rows_of, show_rows, together
from multitudes.kernels.ahead import VARIABLE

TIMED = """
import json, time
def finish(**found):
    with open("/proc/self/status") as status:  # rusage would count what started this process
        (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
    found["cpu_seconds"] = time.process_time() - cpu
    print(json.dumps({**found, "peak_mb": int(peak) / 1024}))
start, cpu = time.perf_counter(), time.process_time()
"""
TREE = """
import numpy as np, scipy.sparse as sp
X = sp.random(3000, 2000, 0.02, format="csr", dtype=np.float32, random_state=0)
Y = sp.random(3000, 600, 0.006, format="csr", dtype=np.float32, random_state=1)
Y.data[:] = 1
from multitudes import XRLinear
begin, cpu = time.perf_counter(), time.process_time()
model = XRLinear(random_state=0).fit(X, Y)
fitted = time.perf_counter()
model.predict(X[:100], top_k=5)
end = time.perf_counter()
finish(seconds=end - begin, fit=fitted - begin, predict=end - fitted)
"""
TEXTS = """
from multitudes import Tagger
from multitudes.data.catalogue import make_catalogue
data = make_catalogue(3000).dataset
begin, cpu = time.perf_counter(), time.process_time()
tagger = Tagger("xr-linear", random_state=0).fit(data)
fitted = time.perf_counter()
tagger.predict(data.texts[:100], top_k=5)
end = time.perf_counter()
finish(seconds=end - begin, fit=fitted - begin, predict=end - fitted)
"""
CASES = {"a tree": TREE, "a tagger of texts": TEXTS}
IMPORTS = {
    "import multitudes": "import multitudes",
    "Tagger and XRLinear": "from multitudes import Tagger, XRLinear",
    "numpy, scipy.sparse, numba": "import numpy, scipy.sparse, numba",
    "sklearn.base": "import sklearn.base",
}
COMMANDS = {"--help": ["--help"], "version": ["version"], "train --help": ["train", "--help"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-store", action="store_true", help="keep no record")
    given = parser.parse_args()
    results = {
        **{name: compiling(code, given.rounds) for name, code in CASES.items()},
        "imports": {name: importing(code, given.rounds) for name, code in IMPORTS.items()},
        "commands": {name: command(words, given.rounds) for name, words in COMMANDS.items()},
    }
    rows = rows_of(results)
    show_rows("first use, alone or helped, and later", rows)
    finish("first_use", rows, store=not given.no_store)


def compiling(code: str, rounds: int) -> dict[str, Any]:
    """Seconds of first use, with and without the helper, and of later use."""
    turns: dict[str, list[dict[str, float]]] = {"helped": [], "alone": [], "later": []}
    for _ in range(rounds):
        for kind, switch in (("alone", "off"), ("helped", "on")):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
                setting = {"NUMBA_CACHE_DIR": cache, VARIABLE: switch}
                turns[kind].append(fresh(TIMED + code, setting))
                if kind == "alone":  # that of the helper may still be written
                    turns["later"].append(fresh(TIMED + code, setting))
    return {kind: together(found, Rounds) for kind, found in turns.items()}


def importing(code: str, rounds: int) -> dict[str, Any]:
    """Seconds and memory of an import."""
    ended = "\nfinish(seconds=time.perf_counter() - start)"
    return together([fresh(TIMED + code + ended, {}) for _ in range(rounds + 1)][1:], Rounds)


def command(words: list[str], rounds: int) -> dict[str, Any]:
    """Seconds of a command from start to end."""
    code = f"""
import subprocess
subprocess.run({[sys.executable, "-m", "multitudes", *words]!r}, stdout=subprocess.DEVNULL)
finish(seconds=time.perf_counter() - start)
"""
    return {"seconds": Rounds([fresh(TIMED + code, {})["seconds"] for _ in range(rounds)])}


def fresh(code: str, setting: dict[str, str]) -> dict[str, float]:
    """What a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **setting}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
