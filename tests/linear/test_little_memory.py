"""A limit of memory changes where arrays lie, and nothing that is learned."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import memory
from multitudes.data.pieces import write_pieces
from multitudes.disentangle import Disentangled
from multitudes.errors import ConfigError, ResourceError
from multitudes.files import large
from multitudes.linear import OneVsAll, Parabel, XRLinear
from multitudes.store import state_of


@pytest.fixture(autouse=True)
def everything_on_disk(monkeypatch):
    """Under a limit, put all but the smallest arrays on disk, in small slabs."""
    monkeypatch.setattr(large, "SHARE", 10**9)
    monkeypatch.setattr(large, "IN_MEMORY", 0)
    monkeypatch.setattr(large, "SMALLEST", 64)
    monkeypatch.setattr(large, "SLAB", 1 << 12)


def problem(n: int = 300, n_features: int = 120, n_labels: int = 60) -> tuple[Any, Any]:
    """Rows that share features with their labels; row 7 is empty, label 5 has no instance."""
    rng = np.random.default_rng(3)
    Y = sp.lil_array((n, n_labels), dtype=np.float32)
    X = sp.random_array((n, n_features), density=0.05, rng=rng, format="lil", dtype=np.float32)
    for i in range(n):
        for label in rng.integers(0, n_labels, 2):
            if label != 5:
                Y[i, label] = 1
                X[i, label] = X[i, 2 * label] = 1
    X[7] = 0
    return X.tocsr(), Y.tocsr()


def leaves(state: Any, name: str = "") -> dict[str, Any]:
    """Return every array of a state by its path."""
    found = {f"{name}/{key}": array for key, array in state.arrays.items()}
    for key, part in state.parts.items():
        found |= leaves(part, f"{name}/{key}")
    return found


def assert_same_model(one: Any, other: Any) -> None:
    """Compare every bit that would be stored."""
    a, b = leaves(state_of(one)), leaves(state_of(other))
    assert a.keys() == b.keys()
    for key, array in a.items():
        assert array.dtype == b[key].dtype, key
        assert np.array_equal(array, b[key]), key


MODELS = {
    "xr-linear": lambda: XRLinear(branching=4, max_leaf_size=8, n_jobs=2),
    "int8": lambda: XRLinear(branching=4, max_leaf_size=8, weights="int8"),
    "float32, matched": lambda: XRLinear(
        branching=4, max_leaf_size=8, weights="float32", negatives="both"
    ),
    "parabel": lambda: Parabel(n_trees=2, max_leaf_size=8),
    "one-vs-all": OneVsAll,
    "disentangled": lambda: Disentangled(XRLinear(branching=4, max_leaf_size=8), overlap=2),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("piece_size", [1, 37, 300])
def test_the_model_is_the_same_bit_for_bit(tmp_path: Path, name: str, piece_size: int) -> None:
    X, Y = problem()
    within = MODELS[name]().fit(X, Y)
    pieces = write_pieces(tmp_path / "pieces", X, Y, piece_size=piece_size)
    with memory.limited("4GB"):
        out_of = MODELS[name]().fit(pieces.X, pieces.Y)
        found = [out_of.predict(piece.X, top_k=4) for piece in pieces]
    assert_same_model(within, out_of)
    expected = within.predict(X, top_k=4)
    assert np.array_equal(np.concatenate([one.labels for one in found]), expected.labels)
    assert np.array_equal(np.concatenate([one.scores for one in found]), expected.scores)


def test_weights_of_instances_and_labels(tmp_path: Path) -> None:
    X, Y = problem()
    rng = np.random.default_rng(0)
    given = {"sample_weight": rng.integers(0, 3, 300), "label_weight": rng.random(60)}
    pieces = write_pieces(tmp_path / "pieces", X, Y)
    within = XRLinear(branching=4, max_leaf_size=8).fit(X, Y, **given)
    limited = XRLinear(branching=4, max_leaf_size=8, memory_limit="4GB")
    assert_same_model(within, limited.fit(pieces.X, pieces.Y, **given))
    assert memory.chosen() is None


def test_checkpoints_do_not_ask_where_arrays_lay(tmp_path: Path) -> None:
    X, Y = problem()
    first = XRLinear(branching=4, max_leaf_size=8, checkpoint=tmp_path).fit(X, Y)
    with memory.limited("4GB"):
        again = XRLinear(branching=4, max_leaf_size=8, checkpoint=tmp_path).fit(X, Y)
    assert_same_model(first, again)
    assert len(list(tmp_path.iterdir())) == 1  # one fit, of one fingerprint


def test_read_only_maps_of_a_user_are_not_copied(tmp_path: Path) -> None:
    X, Y = problem()
    arrays = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
        arrays.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = sp.csr_array(tuple(arrays), shape=X.shape)
    model = XRLinear(branching=4, max_leaf_size=8)
    task = model._task(mapped, Y)
    assert np.shares_memory(task.X.data, arrays[0])
    assert np.shares_memory(task.X.indices, arrays[1])
    assert_same_model(model.fit(mapped, Y), XRLinear(branching=4, max_leaf_size=8).fit(X, Y))


def test_scratch_files_have_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with memory.limited("4GB"):
        kept = large.new_array(1000, np.int64)
    kept[:] = 5
    assert list(tmp_path.iterdir()) == []
    assert kept.sum() == 5000


def test_large_arrays_stay_in_memory_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "IN_MEMORY", 0.25)

    def on_disk(array: Any) -> bool:
        return array.base is not None

    with memory.limited(40_000):
        first, second = large.new_array(8_000, np.uint8), large.new_array(3_000, np.uint8)
        assert (on_disk(first), on_disk(second)) == (False, True)
        view = first[:10]
        del first
        assert on_disk(large.new_array(8_000, np.uint8))
        del view
        assert not on_disk(large.new_array(8_000, np.uint8))
    assert large._taken == []


def test_a_full_scratch_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(large, "_take_room", full)
    X, Y = problem()
    with pytest.raises(ResourceError, match="No space left on device.*TMPDIR"):
        XRLinear(memory_limit="4GB").fit(X, Y)
    assert XRLinear().fit(X, Y).n_labels_ == 60


def test_a_scratch_folder_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "_file_system", lambda _: "tmpfs")
    with memory.limited("4GB"), pytest.raises(ResourceError, match="tmpfs.*set TMPDIR"):
        large.new_array(1000, np.int64)


@pytest.mark.parametrize("size", ["much", "", 0, -1, "8 apples", 1.5])
def test_bad_sizes_are_refused(size: Any) -> None:
    X, Y = problem(20)
    with pytest.raises(ConfigError, match="memory_limit must be"):
        XRLinear(memory_limit=size).fit(X, Y)


def test_a_limit_that_is_too_small_says_so() -> None:
    X, Y = problem()
    with pytest.raises(ResourceError, match=r"limit is 100.0 MB.*memory\.limited"):
        XRLinear(memory_limit="100MB").fit(
            sp.vstack([X] * 1000, format="csr"), sp.vstack([Y] * 1000)
        )


CHILD = """
import json, sys
import numpy as np
from multitudes import memory
from multitudes.data.pieces import open_pieces
from multitudes.files import large
from multitudes.linear import XRLinear

large.IN_MEMORY = 0  # as if other large arrays had filled their part of the limit

def held():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) << 10

folder, limit = sys.argv[1:]
pieces = open_pieces(folder)
rows = slice(0, 2000)
settings = {"branching": 4, "max_leaf_size": 8, "n_jobs": 1}
XRLinear(**settings).fit(pieces.X[rows], pieces.Y[rows])  # compiled, and loaded
import threading, time
before, peak, over = held(), 0, False
def watch():
    global peak
    while not over:
        peak = max(peak, held())
        time.sleep(0.001)
thread = threading.Thread(target=watch)
thread.start()
if limit != "none":
    settings["memory_limit"] = before + int(limit)
XRLinear(**settings).fit(pieces.X, pieces.Y)
over = True
thread.join()
print(json.dumps(peak - before))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_training_holds_less_than_its_features(tmp_path: Path) -> None:
    """X has 48 MB: a stage that copied it, or its indices, would hold more than allowed."""
    rng = np.random.default_rng(0)
    n, per_row = 20_000, 300
    starts = np.arange(n + 1) * per_row
    columns = np.sort(rng.integers(0, 300, (n, per_row)) + np.arange(per_row) * 300, axis=1)
    data = rng.random(n * per_row, dtype=np.float32)
    X = sp.csr_array((data, columns.ravel().astype(np.int32), starts), shape=(n, 90_000))
    Y = sp.csr_array(
        (np.ones(n, np.float32), rng.integers(0, 20, n).astype(np.int32), np.arange(n + 1)),
        shape=(n, 20),
    )
    write_pieces(tmp_path / "pieces", X, Y)
    taken = {}
    for limit in ("none", "64000000"):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(tmp_path / "pieces"), limit],
            capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        taken[limit] = json.loads(done.stdout)
    assert taken["none"] > 48e6
    assert taken["64000000"] < 40e6, taken
