"""Make the fixtures: tiny models saved by the real libraries, with what these predict.

::

    make peers
    python -m tests.interchange.make_fixtures

They were made with libpecos 1.2.8 and omikuji 0.5.2, as `benchmarks/peers.py` installs them. The
tests beside this file import them, so that a machine without these libraries tests the same code.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import scipy.sparse as sp

from tests.interchange.libraries import (
    OMIKUJI_CASES,
    OMIKUJI_SCRIPT,
    PECOS_CASES,
    PECOS_SCRIPT,
    TEXT_CASES,
    TEXT_SCRIPT,
    generated,
    run,
    save_lines,
    save_matrices,
    save_texts,
)

FIXTURES = Path(__file__).parent / "fixtures"
KEPT = {
    "pecos": ["binary", "permuted", "logarithm"],
    "omikuji": ["uneven", "sparse"],
    "texts": ["bigrams-and-characters"],
}
N_TRAIN, N_TEST, N_FEATURES, N_LABELS = 60, 20, 12, 16


def main() -> None:
    """Train, save, predict; leave only what the tests read."""
    shutil.rmtree(FIXTURES, ignore_errors=True)
    for name in KEPT:
        (FIXTURES / name).mkdir(parents=True)
    X, Y = generated(N_TRAIN, N_FEATURES, N_LABELS)
    X_test, _ = generated(N_TEST, N_FEATURES, N_LABELS, seed=1)
    X_test = sp.vstack([X_test, sp.csr_array((1, N_FEATURES), dtype=X.dtype)])  # without features
    for name in ("pecos", "omikuji"):
        save_matrices(FIXTURES / name, X, Y, X_test)
    save_lines(FIXTURES / "omikuji" / "train.txt", X, Y)
    save_texts(FIXTURES / "texts", 12, 6, 4)
    for name, library, script, cases in (
        ("pecos", "pecos", PECOS_SCRIPT, PECOS_CASES),
        ("omikuji", "omikuji", OMIKUJI_SCRIPT, OMIKUJI_CASES),
        ("texts", "pecos", TEXT_SCRIPT, TEXT_CASES),
    ):
        run(library, script, FIXTURES / name, {case: cases[case] for case in KEPT[name]})
    for pattern in ("*/X.npz", "*/Y.npz", "*/train.txt", "*/script.py", "*/items.txt"):
        for path in FIXTURES.glob(pattern):
            path.unlink()


if __name__ == "__main__":
    main()
