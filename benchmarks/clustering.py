"""How fast are label embeddings and label trees made? ``python -m benchmarks.clustering``.

PIFA and balanced hierarchical k-means against libpecos: same features, same settings (branching 16,
leaves of at most 100, 20 iterations), same number of threads. A tree's quality is the mean over
labels of the cosine between a label's embedding and its leaf's centroid, averaged over seeds.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.machine import ROOT
from benchmarks.peers import python_of, version_of
from benchmarks.report import finish, rows_of, show_rows
from benchmarks.timing import Contestant, alternate

DATA = ROOT.parent / "shared" / "data"
DATA_SETS = ("debian-deps", "yso-finna-en")

LOAD = """
import numpy as np, scipy.sparse as sp
X, Y, rows = (sp.load_npz(f"{folder}/{name}.npz").tocsr() for name in ("X", "Y", "pifa"))
turn = -1
"""
# Each run of a tree takes the next seed; its leaves are kept for judging.
KEEP = """
def check(leaves):
    np.save(f"{folder}/{who}-{turn}.npy", leaves)
    return int(leaves.max()) + 1
"""
OURS_PIFA = (
    LOAD
    + """
from multitudes.labels import pifa
def run():
    return pifa(X, Y, n_jobs=n_jobs)
check = lambda embeddings: list(embeddings.shape)
"""
)
PECOS_PIFA = (
    LOAD
    + """
from pecos.xmc import LabelEmbeddingFactory
def run():
    return LabelEmbeddingFactory.pifa(Y, X, threads=n_jobs)
check = lambda embeddings: list(embeddings.shape)
"""
)
OURS_TREE = (
    LOAD
    + """
from multitudes.labels import build_tree
def run():
    global turn
    turn += 1
    return build_tree(rows, random_state=turn, n_jobs=n_jobs).leaf_of_label()
"""
    + KEEP
)
PECOS_TREE = (
    LOAD
    + """
from pecos.xmc import Indexer
settings = {"nr_splits": 16, "max_leaf_size": 100, "max_iter": 20, "spherical": True}
def run():
    global turn
    turn += 1
    chain = Indexer.gen(
        rows, indexer_type="hierarchicalkmeans", random_state=turn, threads=n_jobs, **settings
    )
    return chain[-1].tocsr().indices
"""
    + KEEP
)


def prepare(source: Path, folder: Path) -> dict[str, int]:
    """Word TF-IDF of the training texts, labels and their PIFA, as files both can load."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from multitudes.labels import pifa

    texts, labels = [], []
    with lzma.open(source / "trn.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            texts.append(f"{record['title']} {record['content']}")
            labels.append(record["labels"])
    with lzma.open(source / "lbl.jsonl.xz", "rt", encoding="utf-8") as lines:
        n_labels = sum(1 for _ in lines)
    columns = np.concatenate([np.unique(row) for row in labels]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(set(row)) for row in labels])])
    Y = sp.csr_matrix((np.ones(len(columns), np.float32), columns, indptr), (len(texts), n_labels))
    X = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32).fit_transform(texts)
    X.sort_indices()
    rows = sp.csr_matrix(pifa(X, Y))
    for name, matrix in (("X", X), ("Y", Y), ("pifa", rows)):
        sp.save_npz(folder / f"{name}.npz", matrix, compressed=False)
    return {
        "instances": len(texts), "features": X.shape[1], "labels": n_labels,
        "nnz_features": X.nnz, "nnz_labels": Y.nnz, "nnz_embeddings": rows.nnz,
    }  # fmt: skip


def similarity(folder: Path, who: str, rounds: int) -> float:
    """Mean cosine of labels to their leaf's centroid, over the trees of all rounds."""
    rows = sp.csr_array(sp.load_npz(folder / "pifa.npz"))
    values = []
    for turn in range(1, rounds + 1):
        leaves = np.load(folder / f"{who}-{turn}.npy")
        members = sp.csr_array((np.ones(len(leaves), np.float32), (leaves, np.arange(len(leaves)))))
        sums = members @ rows
        values.append(np.sqrt(sums.multiply(sums).sum(axis=1)).sum() / len(leaves))
    return float(np.mean(values))


def measure(source: Path, n_jobs: int, rounds: int) -> dict[str, Any]:
    """Both steps of one data set, by us and by libpecos."""
    pecos = python_of("pecos")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sizes = prepare(source, folder)
        given = {"folder": str(folder), "n_jobs": n_jobs}

        def pair(ours: str, theirs: str) -> dict[str, Contestant]:
            return {
                "ours": Contestant(ours, {**given, "who": "ours"}, n_jobs=n_jobs),
                "pecos": Contestant(theirs, {**given, "who": "pecos"}, pecos, n_jobs=n_jobs),
            }

        steps = {
            "pifa": alternate(pair(OURS_PIFA, PECOS_PIFA), rounds=rounds),
            "tree": alternate(pair(OURS_TREE, PECOS_TREE), rounds=rounds),
        }
        quality = {who: similarity(folder, who, rounds) for who in ("ours", "pecos")}
    found = {step: {who: t.measures for who, t in of.items()} for step, of in steps.items()}
    for who, one in found["tree"].items():
        one["similarity"] = quality[who]
    return {**sizes, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=DATA_SETS, help="data sets by folder name")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds of each contestant")
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    results = {name: measure(given.data / name, given.threads, given.rounds) for name in given.sets}
    rows = rows_of(results)
    columns = ["seconds", "cpu_seconds", "similarity"]  # mean cosine of a label to its leaf
    show_rows(f"{given.threads} threads", rows, columns)
    settings = {"n_threads": given.threads, "libpecos": version_of("pecos")}
    data = [given.data / name for name in given.sets]
    finish("clustering", rows, data=data, settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
