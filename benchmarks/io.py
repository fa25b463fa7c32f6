"""How fast are files read? Sparse text against napkinXC and a Python loop; formats of texts.

Every contestant runs in a process of its own on one thread, in turns with the others, on the same
generated file, read from the page cache. Ratios are medians over rounds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import python_of, version_of
from benchmarks.report import Rounds, finish, rows_of, show_rows
from benchmarks.timing import Contestant, Timing, alternate
from multitudes.data.dataset import Dataset
from multitudes.data.formats.delimited import write_delimited
from multitudes.data.formats.json_lines import write_json_lines
from multitudes.data.formats.parquet import write_parquet
from multitudes.data.formats.sparse_text import write_sparse_text

OURS = "multitudes"
BYTES_PER_FEATURE = 14

CHECK_MATRICES = """
def check(result):
    X, Y = result
    return [list(X.shape), int(X.nnz), int(X.indices.sum(dtype="int64")), int(Y.nnz)]
"""

OUR_SPARSE_TEXT = f"""
from multitudes.data.formats.sparse_text import read_sparse_text
def run():
    dataset = read_sparse_text(path)
    return dataset.X, dataset.Y
{CHECK_MATRICES}"""

NAPKINXC = f"""
from napkinxc.datasets import load_libsvm_file
def run():
    return load_libsvm_file(path, labels_format="csr_matrix")
{CHECK_MATRICES}"""

PYTHON_SPARSE_TEXT = f"""
import numpy as np, scipy.sparse as sp
def run():
    ids, values, ends, label_ids, label_ends = [], [], [0], [], [0]
    with open(path) as lines:
        n, d, l = map(int, next(lines).split())
        for line in lines:
            labels, *features = line.rstrip().split(" ")
            label_ids += [int(label) for label in labels.split(",") if label]
            label_ends.append(len(label_ids))
            for feature in features:
                name, value = feature.split(":")
                ids.append(int(name))
                values.append(float(value))
            ends.append(len(ids))
    X = sp.csr_array((np.array(values, np.float32), np.array(ids, np.int32), ends), shape=(n, d))
    ones = np.ones(len(label_ids), np.float32)
    return X, sp.csr_array((ones, label_ids, label_ends), shape=(n, l))
{CHECK_MATRICES}"""

CHECK_TEXTS = """
def check(result):
    texts, n_labels = result
    return [len(texts), sum(map(len, texts)), n_labels]
"""

OUR_TEXTS = f"""
import importlib
read = getattr(importlib.import_module("multitudes.data.formats." + module), function)
def run():
    dataset = read(path)
    return dataset.texts, int(dataset.Y.nnz)
{CHECK_TEXTS}"""

PYTHON_JSON = f"""
import json
def run():
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], sum(len(row["labels"]) for row in rows)
{CHECK_TEXTS}"""

PYTHON_CSV = f"""
import csv
def run():
    with open(path, newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return [row["text"] for row in rows], sum(len(row["labels"].split(";")) for row in rows)
{CHECK_TEXTS}"""

PYTHON_PARQUET = f"""
import pyarrow.parquet as pq
def run():
    rows = pq.read_table(path, use_threads=False).to_pylist()
    return [row["text"] for row in rows], sum(len(row["labels"]) for row in rows)
{CHECK_TEXTS}"""

# format -> (suffix, writer, module and function that read it, plain Python)
TEXT_FORMATS: dict[str, tuple[str, Any, str, str, str]] = {
    "json-lines": (".jsonl", write_json_lines, "json_lines", "read_json_lines", PYTHON_JSON),
    "csv": (".csv", write_delimited, "delimited", "read_delimited", PYTHON_CSV),
    "parquet": (".parquet", write_parquet, "parquet", "read_parquet", PYTHON_PARQUET),
}


def sparse_dataset(megabytes: float, random_state: int = 0) -> Dataset:
    """TF-IDF-like rows: 110 features of 100,000, up to 7 labels of 5,000."""
    rng = np.random.default_rng(random_state)
    n = max(int(megabytes * 1e6 / (110 * BYTES_PER_FEATURE)), 1)
    X: Any = sp.random_array((n, 100_000), density=110 / 100_000, format="csr", rng=rng)
    X.data = np.round(X.data, 6).astype(np.float32) + np.float32(1e-6)
    Y: Any = sp.random_array((n, 5_000), density=4 / 5_000, format="csr", rng=rng)
    Y.data[:] = 1
    return Dataset(X=X.astype(np.float32), Y=Y.astype(np.float32))


def text_dataset(megabytes: float, random_state: int = 0) -> Dataset:
    """Texts of 20 to 60 words of a vocabulary of 20,000, with 5 labels each on average."""
    rng = np.random.default_rng(random_state)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, size)) for size in rng.integers(3, 11, 20_000)]
    n = max(int(megabytes * 1e6 / 400), 2)
    texts = [
        " ".join([words[i] for i in rng.integers(0, len(words), size)])
        for size in rng.integers(20, 60, n).tolist()
    ]
    n_labels = rng.integers(1, 10, n)
    ends = np.concatenate([[0], np.cumsum(n_labels)])
    first = rng.integers(0, 4_000, n)
    ids = np.repeat(first - ends[:-1], n_labels) + np.arange(ends[-1])
    Y = sp.csr_array((np.ones(len(ids), np.float32), ids, ends), shape=(n, 5_000))
    return Dataset(Y=Y, texts=texts, label_names=[f"label {i}" for i in range(5_000)])


def sparse_text(folder: Path, megabytes: float, rounds: int, *, peers: bool) -> dict[str, Any]:
    """Time the readers of sparse text."""
    path = folder / "sparse.txt"
    write_sparse_text(sparse_dataset(megabytes), path)
    given = {"path": str(path)}
    contestants = {OURS: Contestant(OUR_SPARSE_TEXT, given)}
    if peers:
        contestants["napkinxc"] = Contestant(NAPKINXC, given, python_of("napkinxc"))
    contestants["python"] = Contestant(PYTHON_SPARSE_TEXT, given)
    return summary(alternate(contestants, rounds=rounds), path)


def texts(folder: Path, megabytes: float, rounds: int) -> dict[str, Any]:
    """Time the readers of texts, each against plain Python."""
    dataset = text_dataset(megabytes)
    results = {}
    for name, (suffix, write, module, function, plain) in TEXT_FORMATS.items():
        path = folder / f"texts{suffix}"
        write(dataset, path)
        given = {"path": str(path)}
        ours = Contestant(OUR_TEXTS, {**given, "module": module, "function": function})
        contestants = {OURS: ours, "python": Contestant(plain, given)}
        results[name] = summary(alternate(contestants, rounds=rounds), path)
    return results


def summary(timings: dict[str, Timing], path: Path) -> dict[str, Any]:
    """Seconds and speeds of all contestants."""
    megabytes = path.stat().st_size / 1e6
    return {"file_mb": megabytes} | {
        name: {**t.measures, "mb_per_second": Rounds([megabytes / s for s in t.seconds])}
        for name, t in timings.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.io", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=24, help="size of each file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true", help="leave other libraries out")
    parser.add_argument("--no-store", action="store_true", help="only print")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {
            "sparse-text": sparse_text(
                folder, args.megabytes, args.rounds, peers=not args.no_peers
            ),
            **texts(folder, args.megabytes, args.rounds),
        }
    rows = rows_of(results)
    show_rows("Reading, one thread", rows, ["mb_per_second", "seconds", "cpu_seconds"])
    peers = {} if args.no_peers else {"napkinxc": version_of("napkinxc")}
    finish("io", rows, settings={"peers": peers}, store=not args.no_store)


if __name__ == "__main__":
    main()
