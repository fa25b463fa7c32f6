"""Small models of every kind, saved by this version, and what is asked of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "0.1"
FOREIGN = ROOT / "tests" / "interchange" / "fixtures"
NETWORKS = ("prime", "otseq2set", "deep-miml", "encoder-features")
TREES = ("levels", "levels-parabel", "levels-disentangled", "levels-eagle")
IMPORTS = {
    "import-pecos": "pecos/binary",
    "import-omikuji": "omikuji/uneven",
    "import-texts": "texts/bigrams-and-characters",
}
N, N_LABELS, N_FEATURES = 120, 40, 30


def names() -> list[str]:
    """Return the models: the golden one of each kind, deeper trees, and imported ones."""
    return [*sorted(path.name for path in GOLDEN.iterdir()), *TREES, *IMPORTS]


def needs(name: str) -> str | None:
    """Return the package that a model needs."""
    if name in ("prime", "encoder-features"):
        return "transformers"
    return "torch" if name in NETWORKS else None


def save_all(folder: Path, wanted: list[str]) -> None:
    """Save each model to ``folder/name/model``, and its inputs beside it."""
    from multitudes import load, save

    for name in wanted:
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        if (GOLDEN / name).is_dir():
            shutil.copy(GOLDEN / name / "expected.json", place)
            model: Any = load(GOLDEN / name / "model")
        else:
            model, inputs = _trees(name) if name in TREES else _imported(name)
            (place / "expected.json").write_text(json.dumps({"inputs": inputs}))
        save(model, place / "model")


def inputs_of(place: Path) -> Any:
    """Return what a model is asked about."""
    inputs = json.loads((place / "expected.json").read_text(encoding="utf-8"))["inputs"]
    if isinstance(inputs[0], str):
        return inputs
    rows = np.array(inputs, np.float32)
    return rows if place.name == "dense-features" else sp.csr_array(rows)


def _trees(name: str) -> tuple[Any, Any]:
    """Fit a tree of several levels on labels that have features of their own."""
    from multitudes import Disentangled, Eagle, Parabel, XRLinear

    rng = np.random.default_rng(0)
    Y = rng.random((N, N_LABELS)) < 2 / N_LABELS
    Y[np.arange(N), np.arange(N) % N_LABELS] = True
    own = rng.random((N_LABELS, N_FEATURES)) < 2 / N_FEATURES
    X = (Y @ (own * 1.0) + (rng.random((N, N_FEATURES)) < 0.1)).astype(np.float32)
    features, labels = sp.csr_array(X), sp.csr_array(Y.astype(np.float32))
    tree = {"branching": 3, "max_leaf_size": 3, "beam_width": 4}
    model: Any
    if name == "levels-eagle":
        groups = sp.csr_array(sp.eye_array(N, dtype=np.float32))
        model = Eagle(XRLinear(**tree)).fit(features, groups, labels)
    else:
        model = {
            "levels": XRLinear(**tree),
            "levels-parabel": Parabel(n_trees=2, **tree),
            "levels-disentangled": Disentangled(XRLinear(**tree), overlap=2),
        }[name].fit(features, labels)
    return model, X[:4].tolist()


def _imported(name: str) -> tuple[Any, Any]:
    from multitudes.interchange import import_model

    folder = FOREIGN / IMPORTS[name]
    if name == "import-texts":
        lines = (folder.parent / "texts.txt").read_text(encoding="utf-8").splitlines()
        return import_model(folder / "model"), [*lines[:2], ""]
    X = sp.load_npz(folder.parent / "X_test.npz")
    return import_model(folder / "model"), X[:3].toarray().tolist()


def answers(model: Any, inputs: Any) -> str:
    """Return all that a model says about inputs, as text that can be compared."""
    from multitudes import Tagger
    from tests.golden.make import outputs

    found = outputs(model, inputs)
    found["explained"] = list(_explanations(model, inputs, named=isinstance(model, Tagger)))
    return json.dumps(found, sort_keys=True, default=str)


def _explanations(model: Any, inputs: Any, *, named: bool) -> Iterator[str]:
    if not hasattr(model, "explain"):
        return
    labels = model.classes_ if named else range(model.n_labels_)
    x = inputs[0] if isinstance(inputs, list) else inputs[[0]]
    for label in (labels[0], labels[-1]):
        yield str(model.explain(x, label))
    if hasattr(model, "senses") and not named:
        yield str(model.senses(0))
