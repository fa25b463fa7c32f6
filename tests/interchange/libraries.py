"""Models that PECOS and omikuji train and save, with what they predict, in many configurations.

Each library runs in its own environment under ``.peers`` (``make peers``). A case leaves in its
folder: ``model``, as the library saved it, and ``expected.npz``, the scores of its best labels for
the rows of ``X_test.npz`` or the lines of ``texts.txt``, after loading the model again.
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

PEERS = Path(__file__).resolve().parents[2] / ".peers"

# What is drawn by chance is drawn by seed; omikuji has none, so its models differ from run to run.
PECOS_CASES: dict[str, dict[str, Any]] = {
    "default": {},
    "binary": {"splits": 2, "leaf": 5, "predict": {"beam_size": 3}},
    "wide": {"splits": 16, "leaf": 4, "predict": {"post_processor": "sigmoid", "beam_size": 5}},
    "logarithm": {"splits": 4, "leaf": 5, "predict": {"post_processor": "log-sigmoid"}},
    "log-hinge": {"splits": 4, "leaf": 5, "predict": {"post_processor": "log-l2-hinge"}},
    "l1-hinge": {"splits": 4, "leaf": 5, "predict": {"post_processor": "l1-hinge"}},
    "sparse": {"splits": 4, "leaf": 5, "train": {"threshold": 0.4}, "predict": {"beam_size": 2}},
    "permuted": {"splits": 3, "leaf": 5, "permute": True, "predict": {"beam_size": 4}},
    "no-bias": {"splits": 4, "leaf": 5, "train": {"bias": -1.0}},
    "other-bias": {"splits": 4, "leaf": 5, "train": {"bias": 2.5}},
    "one-vs-all": {"tree": False, "predict": {"post_processor": "noop"}},
    "restricted": {"splits": 4, "leaf": 5, "restrict": 3, "predict": {"beam_size": 6}},
}
OMIKUJI_CASES: dict[str, dict[str, Any]] = {
    "parabel": {"min_branch_size": 10},
    "log-loss": {"min_branch_size": 10, "linear_loss_type": 1, "linear_c": 1.0},
    "bonsai": {
        "min_branch_size": 8, "cluster_balanced": False, "cluster_k": 4, "max_depth": 4,
    },
    "uneven": {
        "min_branch_size": 4, "cluster_balanced": False, "cluster_k": 3, "n_trees": 2,
        "linear_loss_type": 1,
    },
    "collapsed": {"min_branch_size": 8, "collapse_every_n_layers": 2, "n_trees": 2},
    "leaf-alone": {"min_branch_size": 1000, "n_trees": 1, "linear_weight_threshold": 0.5},
    "sparse": {"min_branch_size": 10, "linear_weight_threshold": 0.9},
}  # fmt: skip
TEXT_CASES: dict[str, list[dict[str, Any]]] = {
    "words": [{}],
    "bigrams-and-characters": [
        {"ngram_range": [1, 2], "sublinear_tf": True, "min_df_cnt": 2},
        {"ngram_range": [2, 3], "analyzer": "char_wb", "min_df_cnt": 3, "norm": "l1"},
    ],
    "characters-cut-short": [
        {"ngram_range": [1, 2], "analyzer": "char", "truncate_length": 30, "binary": True},
    ],
    "counts-of-length-1": [{"use_idf": False, "norm": "l1", "max_df_ratio": 0.9}],
}

PECOS_SCRIPT = """
import json, sys
import numpy as np, scipy.sparse as sp
from pecos.utils.cluster_util import ClusterChain
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
folder, cases = sys.argv[1], json.loads(sys.argv[2])
X, Y, X_test = (sp.load_npz(f"{folder}/{n}.npz").tocsr().astype(np.float32)
                for n in ("X", "Y", "X_test"))
embeddings = LabelEmbeddingFactory.create(Y.tocsc(), X, method="pifa")
for name, case in cases.items():
    tree, settings = None, dict(case.get("train", {}))
    if case.get("tree", True):
        splits = case.get("splits", 16)
        settings["nr_splits"] = splits
        tree = Indexer.gen(embeddings, indexer_type="hierarchicalkmeans", nr_splits=splits,
                           max_leaf_size=case.get("leaf", 100), seed=0)
        if case.get("permute"):
            matrices, order = [], np.zeros(1, int)
            for own in tree[:-1]:
                own = own[:, order]
                order = np.random.default_rng(len(matrices)).permutation(own.shape[0])
                matrices.append(own[order].tocsc())
            tree = ClusterChain([*matrices, tree[-1][:, order].tocsc()])
    model = XLinearModel.train(X, Y, C=tree, pred_kwargs=case.get("predict") or None, **settings)
    if case.get("restrict"):
        model.set_output_constraint(range(0, Y.shape[1], case["restrict"]))
    model.save(f"{folder}/{name}/model")
    found = XLinearModel.load(f"{folder}/{name}/model").predict(X_test)
    sp.save_npz(f"{folder}/{name}/expected.npz", found.tocsr())
"""
TEXT_SCRIPT = """
import json, sys
import scipy.sparse as sp
from pecos.apps.text2text.model import Text2Text
folder, cases = sys.argv[1], json.loads(sys.argv[2])
texts = open(f"{folder}/texts.txt", encoding="utf-8").read().split("\\n")
for name, vectorizers in cases.items():
    config = {"type": "tfidf", "kwargs": {"base_vect_configs": vectorizers}}
    data = (f"{folder}/train.txt", f"{folder}/items.txt")
    Text2Text.train(*data, vectorizer_config=config).save(f"{folder}/{name}/model")
    model = Text2Text.load(f"{folder}/{name}/model")
    sp.save_npz(f"{folder}/{name}/X.npz", model.preprocessor.predict(texts).tocsr())
    sp.save_npz(f"{folder}/{name}/expected.npz", model.predict(texts).tocsr())
"""
OMIKUJI_SCRIPT = """
import json, sys
import numpy as np, omikuji, scipy.sparse as sp
folder, cases = sys.argv[1], json.loads(sys.argv[2])
X_test = sp.load_npz(f"{folder}/X_test.npz").tocsr()
n_labels = sp.load_npz(f"{folder}/Y.npz").shape[1]
for name, case in cases.items():
    settings = omikuji.Model.default_hyper_param()
    for key, value in case.items():
        setattr(settings, key, value)
    omikuji.Model.train_on_data(f"{folder}/train.txt", settings).save(f"{folder}/{name}/model")
    model = omikuji.Model.load(f"{folder}/{name}/model")
    found = sp.lil_matrix((X_test.shape[0], n_labels), dtype=np.float32)
    for i in range(X_test.shape[0]):
        row = slice(X_test.indptr[i], X_test.indptr[i + 1])
        pairs = zip(X_test.indices[row].tolist(), X_test.data[row].tolist())
        for label, score in model.predict(list(pairs), top_k=n_labels):
            found[i, label] = score
    sp.save_npz(f"{folder}/{name}/expected.npz", found.tocsr())
"""


def generated(n: int, n_features: int, n_labels: int, seed: int = 0) -> tuple[Any, Any]:
    """Instances whose labels show in their features; every seventh label is never used."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, n_labels)) < 1.5 / n_labels
    Y[np.arange(n), rng.integers(0, n_labels, n)] = True
    Y[:, 6::7] = False
    Y[Y.sum(axis=1) == 0, 0] = True
    prototypes = rng.random((n_labels, n_features)) * (rng.random((n_labels, n_features)) < 0.3)
    X = (Y @ prototypes + rng.random((n, n_features)) ** 6) * (rng.random((n, n_features)) < 0.5)
    return sp.csr_array(X.astype(np.float32).round(3)), sp.csr_array(Y.astype(np.float32))


def run(library: str, script: str, folder: Path, cases: dict[str, Any]) -> None:
    """Run a script in the library's environment; cases get a folder each."""
    for name in cases:
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "script.py").write_text(script, encoding="utf-8")
    python = PEERS / library / "bin" / "python"
    command = [python, "-X", "utf8", folder / "script.py", folder, json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{library} failed:\n{done.stderr[-3000:]}")


def save_matrices(folder: Path, X: Any, Y: Any, X_test: Any) -> None:
    """Write X, Y and X_test where the scripts look for them."""
    for name, matrix in {"X": X, "Y": Y, "X_test": X_test}.items():
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(matrix).astype(np.float32))


def save_lines(path: Path, X: Any, Y: Any) -> None:
    """Write data in the format of the XC repository, which omikuji reads."""
    with path.open("w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for i in range(X.shape[0]):
            x, y = X[[i]], Y[[i]]
            pairs = zip(x.indices.tolist(), x.data.tolist(), strict=True)
            values = " ".join(f"{j}:{value:.9g}" for j, value in pairs)
            file.write(f"{','.join(map(str, y.indices.tolist()))} {values}\n")


def save_texts(folder: Path, n: int, n_items: int, n_words: int, seed: int = 0) -> None:
    """Write lines of words for text2text, some with capitals, marks and characters of all kinds."""
    rng = random.Random(seed)
    odd = ["Öl", "C++", "it's", "日本", "naïve", "A-b", "😀", "Word"]
    words = [f"w{i}" for i in range(n_words)] + odd
    lines = []
    for _ in range(2 * n):
        items = rng.sample(range(n_items), 2)
        chosen = [f"w{item}" for item in items for _ in range(2)] + rng.choices(words, k=8)
        rng.shuffle(chosen)
        lines.append((items, " ".join(chosen)))
    train = [f"{','.join(map(str, items))}\t{text}\n" for items, text in lines[:n]]
    names = [f"item {i // 2 if i < 4 else i}\n" for i in range(n_items)]  # two names occur twice
    texts = [text for _, text in lines[n:]] + ["", "unknown words", "  w1  unknown w2\tw3 W1 ÖL "]
    (folder / "train.txt").write_text("".join(train), encoding="utf-8")
    (folder / "items.txt").write_text("".join(names), encoding="utf-8")
    (folder / "texts.txt").write_text("\n".join(texts), encoding="utf-8")
