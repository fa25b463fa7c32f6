"""How long it takes from raw text to a saved model, as a whole command.

    python -m benchmarks.whole_command --data DIR/eurlex-titles

Ours is ``multitudes train FILE -m xr-linear -o MODEL``. Theirs is a script that reads the same file
with Python's json, makes TF-IDF with scikit-learn, embeds and clusters labels, trains and saves
with libpecos. Both run as processes of their own, from the start of Python to the last byte on
disk, in turns, with all cores. TF-IDF is the same: words by `TOKEN_PATTERN` in small letters, title
and content with a blank between, 1 + ln(count), smooth idf, rows of length 1, float32. Trees have
the same settings (16 children, leaves of at most 100, cost 1, tolerance 0.1, weights up to 0.1
dropped), the same seed. Files are plain JSON lines. A first run of ours, which compiles, is not
counted: `benchmarks.first_use` measures it. It also leaves Python's byte code, which pip makes for
whatever it installs: PYTHONDONTWRITEBYTECODE is not passed on, or ours alone would be read anew.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import ROOT
from benchmarks.peers import python_of, run_in, version_of
from benchmarks.report import Rounds, finish, rows_of, show_rows, together
from multitudes import Tagger
from multitudes.data import read_dataset
from multitudes.features import TOKEN_PATTERN

KS = (1, 3, 5)
TEST_SPLITS = ("tst", "dev")

PECOS = f"""
import json, pickle, sys
import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from sklearn.feature_extraction.text import TfidfVectorizer

path, folder = sys.argv[1:]
texts, indices, indptr = [], [], [0]
with open(path, encoding="utf-8") as lines:
    for line in lines:
        record = json.loads(line)
        texts.append((record["title"] + " " + record["content"]).strip())
        indices += record["labels"]
        indptr.append(len(indices))
tfidf = TfidfVectorizer(token_pattern={TOKEN_PATTERN!r}, sublinear_tf=True, dtype=np.float32)
X = tfidf.fit_transform(texts)
Y = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr))
X.sort_indices(), Y.sort_indices()
embeddings = LabelEmbeddingFactory.create(Y, X, method="pifa")
tree = Indexer.gen(
    embeddings, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, seed=0
)
XLinearModel.train(X, Y, C=tree).save(folder)
with open(folder + "/tfidf.pickle", "wb") as file:
    pickle.dump(tfidf, file)
"""
PECOS_PREDICTS = """
import json, pickle
import numpy as np
from pecos.xmc.xlinear.model import XLinearModel
texts = []
for line in open(path, encoding="utf-8"):
    record = json.loads(line)
    texts.append((record["title"] + " " + record["content"]).strip())
with open(folder + "/tfidf.pickle", "rb") as file:
    X = pickle.load(file).transform(texts)
X.sort_indices()
found = XLinearModel.load(folder, is_predict_only=True).predict(X, only_topk=5, beam_size=10)
result = []
for start, end in zip(found.indptr[:-1], found.indptr[1:]):
    best = np.argsort(-found.data[start:end], kind="stable")
    result.append(found.indices[start:end][best].tolist())
"""

# A small process starts the command, because Linux counts the memory of whoever starts it, too.
LAUNCHER = """
import json, os, subprocess, sys, time
started = time.perf_counter()
nowhere = subprocess.DEVNULL
process = subprocess.Popen(sys.argv[1:], stdin=nowhere, stdout=nowhere, stderr=nowhere)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - started
cpu = usage.ru_utime + usage.ru_stime
print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "peak_mb": usage.ru_maxrss / 1024}))
sys.exit(status != 0)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with trn.jsonl.xz")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ours-alone", action="store_true", help="nothing of libpecos")
    parser.add_argument("--no-store", action="store_true", help="keep no record")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measured(given.data, Path(folder), given.rounds, against=not given.ours_alone)
    store = not given.no_store and not given.ours_alone
    settings = {"libpecos": version_of("pecos")} if not given.ours_alone else {}
    name = f"whole_command-{given.data.name}"
    finish(name, rows_of(results), settings=settings, store=store)


def measured(source: Path, folder: Path, rounds: int, *, against: bool) -> dict[str, Any]:
    """Times, memory and precision of both on one data set."""
    training, test = plain(source, ("trn",), folder), plain(source, TEST_SPLITS, folder)
    commands = {"ours": ours(training, folder / "ours")}
    if against:
        script = folder / "train_pecos.py"
        script.write_text(PECOS, encoding="utf-8")
        (folder / "pecos").mkdir()
        commands["pecos"] = [python_of("pecos"), script, training, folder / "pecos"]
    run(commands["ours"])  # compiles
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(run(command))
    results = {name: together(found, Rounds) for name, found in runs.items()}
    if against:
        for name, found in precision(test, folder).items():
            results[name] |= dict(zip((f"P@{k}" for k in KS), found, strict=True))
    results["training file"] = {"megabytes": training.stat().st_size / 1e6}
    show_rows(source.name, rows_of(results))
    return results


def plain(source: Path, splits: Sequence[str], folder: Path) -> Path:
    """The first split that is there, unpacked."""
    (packed, *_) = [p for s in splits if (p := source / f"{s}.jsonl.xz").exists()]
    path = folder / packed.stem
    with lzma.open(packed) as data, path.open("wb") as out:
        shutil.copyfileobj(data, out)
    return path


def ours(training: Path, model: Path) -> list[Any]:
    return [sys.executable, "-m", "multitudes", "train", training, "-m", "xr-linear", "-o", model,
            "--force"]  # fmt: skip


def run(command: Sequence[Any]) -> dict[str, float]:
    """A process from start to end: seconds, CPU seconds, largest memory."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, *map(str, command)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env=environment,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def precision(test: Path, folder: Path) -> dict[str, list[float]]:
    """P@1, P@3 and P@5 of both on the test split; labels that training lacks count as missed."""
    tagger = Tagger.load(folder / "ours")
    truth = [set(map(str, json.loads(line)["labels"])) for line in test.open(encoding="utf-8")]
    dataset = read_dataset(test)
    names = np.asarray(tagger.classes_)
    predicted = tagger.model_.predict(tagger.features_.transform(dataset.texts), top_k=5)
    mine = [[names[label] for label in row if label >= 0] for row in predicted.labels]
    arguments = {"path": str(test), "folder": str(folder / "pecos")}
    theirs = [list(map(str, row)) for row in run_in("pecos", PECOS_PREDICTS, arguments)]
    return {"ours": at_k(mine, truth), "pecos": at_k(theirs, truth)}


def at_k(found: list[list[str]], truth: list[set[str]]) -> list[float]:
    """Per cent of the first k that are right, over instances."""
    return [
        100 * float(np.mean([len(truth_of & set(row[:k])) / k for row, truth_of in
                             zip(found, truth, strict=True)]))
        for k in KS
    ]  # fmt: skip


if __name__ == "__main__":
    main()
