"""How fast do texts become TF-IDF rows? ``python -m benchmarks.features``.

Three questions: `TfidfFeatures` against scikit-learn's TfidfVectorizer and against a plain Python
loop (the same rows, checked), one text at a time, and the memory that fitting takes beside its
output. On the real data sets where they lie beside the repository, else on the catalogue.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tempfile
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT, usable_cores
from benchmarks.report import Rounds, finish, rows_of, show_rows
from benchmarks.timing import Contestant, Timing, alternate

SHARED_DATA = ROOT.parent / "shared" / "data"
REAL = ("eurlex-titles", "debian-deps", "yso-finna-en")
WORDS = {"word_ngrams": [1, 1], "char_ngrams": None, "min_df": 1}
PAIRS = {"word_ngrams": [1, 2], "char_ngrams": None, "min_df": 2}
CHARACTERS = {"word_ngrams": None, "char_ngrams": [3, 4], "min_df": 1}

LOAD = """
import json
texts = json.load(open(path, encoding="utf-8"))
def check(X):
    return [*X.shape, int(X.nnz), round(float(X.data.sum(dtype="float64")), 1)]
"""
OURS = """
from multitudes.features import TfidfFeatures
given = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
features = TfidfFeatures(n_jobs=n_jobs, **given)
"""
SKLEARN = """
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from multitudes.features import TOKEN_PATTERN
words = settings["word_ngrams"]
given = {"analyzer": "word", "token_pattern": TOKEN_PATTERN} if words else {"analyzer": "char_wb"}
features = TfidfVectorizer(
    ngram_range=tuple(words or settings["char_ngrams"]), min_df=settings["min_df"],
    sublinear_tf=True, dtype=np.float32, **given,
)
"""
FIT = "\ndef run():\n    return features.fit_transform(texts)\n"
SINGLE = """
features.fit(texts)
def run():
    for text in texts[:500]:
        row = features.transform([text])
def check(_):
    return features.transform(texts[:1]).nnz
"""
MEMORY = """
import tracemalloc
def run():
    tracemalloc.start()
    X = features.fit_transform(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    output = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {"peak_mb": peak / 1e6, "output_mb": output / 1e6}
def check(result):
    return {name: round(value, 1) for name, value in result.items()}
"""
LOOP = """
import re
from collections import Counter
import numpy as np
import scipy.sparse as sp
from multitudes.features import TOKEN_PATTERN
find = re.compile(TOKEN_PATTERN).findall
def run():
    ids, indices, counts, indptr = {}, [], [], [0]
    for text in texts:
        for word, count in Counter(find(text.lower())).items():
            indices.append(ids.setdefault(word, len(ids)))
            counts.append(count)
        indptr.append(len(indices))
    columns = np.empty(len(ids), np.int32)
    columns[[ids[word] for word in sorted(ids)]] = np.arange(len(ids))
    indices = columns[indices]
    idf = np.log((1 + len(texts)) / (1 + np.bincount(indices))) + 1
    data = ((1 + np.log(counts)) * idf[indices]).astype(np.float32)
    X = sp.csr_array((data, indices, indptr), shape=(len(texts), len(ids)))
    X.sort_indices()
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    X.data /= np.repeat(np.maximum(lengths, 1e-12), np.diff(X.indptr))
    return X
"""


def load_texts(name: str) -> list[str]:
    """The training texts of a real data set, composed.

    `TfidfFeatures` composes letters and marks (NFC) itself, scikit-learn does not: without this
    the two would read the few decomposed texts differently and not count the same words.
    """
    with lzma.open(SHARED_DATA / name / "trn.jsonl.xz", "rt", encoding="utf-8") as lines:
        records = (json.loads(line) for line in lines)
        texts = (f"{record['title']} {record['content']}".strip() for record in records)
        return [unicodedata.normalize("NFC", text) for text in texts]


def corpora(n_texts: int | None) -> dict[str, list[str]]:
    """Texts by name; `n_texts` limits each."""
    names = [name for name in REAL if (SHARED_DATA / name).is_dir()]
    if names:
        return {name: load_texts(name)[:n_texts] for name in names}
    from multitudes.data.catalogue import make_catalogue

    return {"catalogue": list(make_catalogue(n_texts or 100_000).dataset.texts or [])}


def fitting(path: str, settings: Mapping[str, Any], rounds: int) -> dict[str, Timing]:
    """fit_transform by each contestant; they must agree on the rows."""
    given = {"path": path, "settings": dict(settings)}
    cores = usable_cores()
    contestants = {
        "ours, 1 thread": Contestant(LOAD + OURS + FIT, {**given, "n_jobs": 1}),
        f"ours, {cores} threads": Contestant(
            LOAD + OURS + FIT, {**given, "n_jobs": cores}, n_jobs=cores
        ),
        "scikit-learn": Contestant(LOAD + SKLEARN + FIT, given),
    }
    if settings == WORDS:
        contestants["Python loop"] = Contestant(LOAD + LOOP, given)
    return alternate(contestants, rounds=rounds)


def single(path: str, rounds: int) -> dict[str, Timing]:
    """500 calls of transform with one text each."""
    given = {"path": path, "settings": WORDS, "n_jobs": 1}
    return alternate(
        {
            "ours, 1 thread": Contestant(LOAD + OURS + SINGLE, given),
            "scikit-learn": Contestant(LOAD + SKLEARN + SINGLE, given),
        },
        rounds=rounds,
    )


def memory(path: str, settings: Mapping[str, Any]) -> dict[str, float]:
    """The largest allocation while fitting, output included, and the output."""
    given = {"path": path, "settings": dict(settings), "n_jobs": 1}
    timings = alternate({"ours": Contestant(LOAD + OURS + MEMORY, given)}, rounds=1)
    found: dict[str, float] = timings["ours"].check
    return found


def measure(texts: list[str], rounds: int) -> dict[str, Any]:
    """All numbers of one corpus."""
    results: dict[str, Any] = {
        "texts": len(texts), "megabytes": sum(len(text.encode()) for text in texts) / 1e6,
    }  # fmt: skip
    cases = {"words": WORDS, "words and pairs": PAIRS}
    if results["megabytes"] < 10:
        cases["characters"] = CHARACTERS  # scikit-learn takes too long on the larger ones
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "texts.json")
        Path(path).write_text(json.dumps(texts), encoding="utf-8")
        for case, settings in cases.items():
            results[case] = {n: t.measures for n, t in fitting(path, settings, rounds).items()}
            results[case]["ours, 1 thread"] |= memory(path, settings)
        results["single"] = {
            n: {**t.measures, "microseconds": Rounds([1e6 * s / 500 for s in t.seconds])}
            for n, t in single(path, rounds).items()
        }
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="timed rounds of each contestant")
    parser.add_argument("--texts", type=int, help="at most this many texts of each data set")
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    found = corpora(given.texts)
    rows = rows_of({name: measure(texts, given.rounds) for name, texts in found.items()})
    show_rows("fit_transform; single: 500 times one text", rows, ["texts", "seconds"])
    data = [SHARED_DATA / name for name in found if (SHARED_DATA / name).is_dir()]
    finish("features", rows, data=data, store=not given.no_store)


if __name__ == "__main__":
    main()
