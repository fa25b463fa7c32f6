"""How fast does an imported model predict? ``python -m benchmarks.imports --data DIR``.

libpecos and omikuji train on the same features, with their defaults but for the seed, and save; the
folder is then predicted from by the library and, imported, by us: all test instances at once, one
thread, beam 10, five labels. omikuji takes one instance at a time.

- ``seconds`` and ``cpu_seconds``: of all test instances, medians over rounds in which the two take
  turns;
- ``ratio`` and ``cpu_ratio``: how many times as long the library takes;
- ``single_ratio``: CPU seconds of the library in ours, instance by instance, of the first 200;
- ``largest_difference``: of the scores of their best five labels.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import python_of, run_in, version_of
from benchmarks.report import at_least_one, finish, rows_of, show_rows
from benchmarks.timing import Contestant, alternate
from benchmarks.trees.data import export

TOP_K, BEAM_WIDTH, N_SINGLE = 5, 10, 200

# omikuji logs to the stdout of the process, where answers are read from.
OMIKUJI = """
import os
answers_to = os.dup(1)
os.dup2(2, 1)
import omikuji
"""
TRAIN = {
    "pecos": """
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
X, Y = (sp.load_npz(f"{folder}/{name}.npz").tocsr() for name in ("X", "Y"))
tree = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"), seed=0)
XLinearModel.train(X, Y, C=tree, beam_size=beam_width).save(f"{folder}/pecos")
result = None
""",
    "omikuji": OMIKUJI
    + """
omikuji.Model.train_on_data(f"{folder}/train.txt").save(f"{folder}/omikuji")
os.dup2(answers_to, 1)
result = None
""",
}

# Each defines `predict(X)`, a list of scores of the best labels for each row.
PREDICT = {
    "pecos": """
from pecos.xmc.xlinear.model import XLinearModel
model = XLinearModel.load(f"{folder}/pecos", is_predict_only=True)
def predict(X):
    found = model.predict(X, only_topk=top_k, beam_size=beam_width, threads=1)
    return found.data.reshape(X.shape[0], -1)
""",
    "omikuji": OMIKUJI
    + """
model = omikuji.Model.load(f"{folder}/omikuji")
model.init_prediction_thread_pool(1)
os.dup2(answers_to, 1)
def predict(X):
    rows = []
    for start, end in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist()):
        pairs = zip(X.indices[start:end].tolist(), X.data[start:end].tolist())
        rows.append([score for _, score in model.predict(list(pairs), beam_width, top_k)])
    return rows
""",
    "ours": """
from multitudes.interchange import import_model
tagger = import_model(f"{folder}/{library}")
tagger.model_.set_params(n_jobs=1)
def predict(X):
    return tagger.predict_ids(X, top_k=top_k).scores
""",
}
RUN = """
import numpy as np, scipy.sparse as sp
X_test = sp.load_npz(f"{folder}/X_test.npz").tocsr().astype(np.float32)
rows = [X_test] if n_single is None else [X_test[i : i + 1] for i in range(n_single)]
def run():
    return [predict(X) for X in rows]
def check(found):
    np.save(f"{folder}/{library}-{who}.npy", np.sort(np.vstack(found), axis=1)[:, ::-1])
    return len(np.vstack(found))
"""


def measure(library: str, folder: Path, *, rounds: int) -> dict[str, Any]:
    """Train, save, and predict both ways."""
    given = {"folder": str(folder), "library": library, "top_k": TOP_K, "beam_width": BEAM_WIDTH}
    run_in(library, TRAIN[library], given)
    times = {
        n_single: alternate(
            {
                who: Contestant(
                    PREDICT[who] + RUN,
                    {**given, "who": who, "n_single": n_single},
                    *([python_of(library)] if who == library else []),
                )
                for who in (library, "ours")
            },
            rounds=rounds,
        )
        for n_single in (N_SINGLE, None)
    }
    theirs, ours = times[None][library], times[None]["ours"]
    scores = [np.load(folder / f"{library}-{who}.npy") for who in (library, "ours")]
    return {
        "version": version_of(library),
        "largest_difference": float(np.abs(scores[0] - scores[1]).max()),
        "theirs": theirs.measures,
        "ours": ours.measures,
        "one by one, theirs": times[N_SINGLE][library].measures,
        "one by one, ours": times[N_SINGLE]["ours"].measures,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure both libraries on one data folder."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.imports")
    parser.add_argument("--data", type=Path, required=True, help="folder of a data set")
    parser.add_argument("--libraries", default="pecos,omikuji", help="defaults to both")
    parser.add_argument("--rounds", type=at_least_one, default=5)
    parser.add_argument("--no-store", action="store_true", help="do not keep the record")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results: dict[str, Any] = {}
        results["sizes"] = export(given.data, folder, as_text=True)
        for library in given.libraries.split(","):
            results[library] = measure(library, folder, rounds=given.rounds)
    rows = rows_of(results)
    show_rows(f"predicting {given.data.name}, library against imported model", rows)
    finish("imports", rows, store=not given.no_store)


if __name__ == "__main__":
    main()
