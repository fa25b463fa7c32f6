"""Make the golden models: a tiny saved model of every kind, with inputs and what it predicts.

::

    python tests/golden/make.py            # all of this version, in tests/golden/<major.minor>/
    python tests/golden/make.py prime      # one of them

`test_golden.py` loads each and compares. Folders of released versions are never made again: they
show that this version reads what older ones wrote. A new kind needs a recipe here.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from multitudes import (
    Dataset,
    Disentangled,
    Eagle,
    Lexical,
    OneVsAll,
    Parabel,
    Tagger,
    XRLinear,
    save,
)
from multitudes.features import (
    ConcatFeatures,
    DenseFeatures,
    HashingFeatures,
    PassThrough,
    TfidfFeatures,
)
from multitudes.interchange.omikuji_forest import OmikujiForest
from multitudes.interchange.pecos_tfidf import PecosTfidf, TermOptions, TermVocabulary
from multitudes.scores import CalibrationConfig
from multitudes.version import __version__

HERE = Path(__file__).parent
CURRENT = HERE / ".".join(__version__.split(".")[:2])

NAMES = ["cat", "dog", "barn", "lake", "old", "small"]
ANIMALS, PLACES, SIZES = NAMES[:2], NAMES[2:4], NAMES[4:]
TEXTS = [f"{s} {a} at the {p}" for a in ANIMALS for p in PLACES for s in (*SIZES, "a")]
LABELS = [[name for name in NAMES if name in text.split()] for text in TEXTS]
Y = sp.csr_array([[float(name in labels) for name in NAMES] for labels in LABELS])
X = sp.csr_array(np.random.default_rng(0).random((len(TEXTS), 8), np.float32))

QUESTIONS = ["a small dog at the lake", "an old barn", ""]
TOP_K = len(NAMES)  # all labels, so that a tie at the end of the list cannot change it


def tagger(model: Any, *, sets: str, method: str = "isotonic", features: Any = None) -> Tagger:
    """A calibrated tagger over texts."""
    made = Tagger(model, features=features).fit(TEXTS, LABELS)
    held_out = Dataset(Y=Y, label_names=NAMES, texts=TEXTS)
    return made.calibrate(held_out, config=CalibrationConfig(method=method, sets=sets))


def lexical() -> Any:
    """Names in two languages, with learned weights."""
    names = [[name, f"{name}s and other {name}s"] for name in NAMES]
    some = [*TEXTS, *(f"{text} and no cats, der See und das Haus" for text in TEXTS)]
    model = Lexical(language=("english", "german"), compounds=True)
    return model.fit(some * 4, sp.vstack([Y] * 8), label_texts=names)


def prime() -> Any:
    """An encoder from scratch with prototypes."""
    from multitudes.deep import TrainingConfig
    from multitudes.encoder import BackboneConfig, Prime, PrototypeConfig, SamplerConfig

    return Prime(
        backbone=BackboneConfig(
            name="scratch", max_length=8, label_max_length=4,
            scratch_layers=1, scratch_dim=32, scratch_vocabulary=512,
        ),
        prototypes=PrototypeConfig(feed_forward=32),
        training=TrainingConfig(epochs=1, device="cpu"),
        sampler=SamplerConfig(batch_size=8),
    ).fit(TEXTS, Y, label_texts=NAMES)  # fmt: skip


def encoder_features() -> Any:
    """The encoder of the golden `prime`, as features."""
    from multitudes.encoder import EncoderFeatures

    with chdir(CURRENT):  # its path becomes a setting
        return EncoderFeatures("prime/model", device="cpu").fit(TEXTS)


def otseq2set() -> Any:
    """A network that generates sets."""
    from multitudes.seq2set import (
        BatchConfig,
        NetworkConfig,
        OTSeq2Set,
        Seq2SetTraining,
        WordsConfig,
    )

    return OTSeq2Set(
        words=WordsConfig(dim=4),
        network=NetworkConfig(hidden=4, layers=1, kernels=(3,), strides=(1,)),
        batches=BatchConfig(batch_size=4),
        training=Seq2SetTraining(epochs=20, learning_rate=0.03, device="cpu"),
    ).fit(TEXTS, Y, label_texts=NAMES)


def deep_miml() -> Any:
    """A network over bags of two instances."""
    from multitudes.groups import DeepMIML, MIMLTraining

    return DeepMIML(training=MIMLTraining(n_epochs=2), device="cpu").fit(X, GROUPS, GROUP_LABELS)


def pecos_tfidf() -> Any:
    """Words and pairs of characters, as PECOS would have saved them."""
    words = TermOptions(
        characters=False, shortest=1, longest=1, max_length=-1, binary=False, sublinear_tf=True,
        use_idf=True, norm="l2",
    )  # fmt: skip
    pairs = replace(words, characters=True, shortest=2, longest=2, norm="l1")
    return PecosTfidf([
        TermVocabulary(words, tuple(NAMES), np.linspace(1, 2, len(NAMES), dtype=np.float32)),
        TermVocabulary(pairs, ("at", "ll", " l"), np.ones(3, np.float32)),
    ])  # fmt: skip


def ensemble(fusion: str) -> Any:
    """Words and parts of words, fused; the fusion is learned from what members learned, thrice."""
    from multitudes.fusion import Ensemble

    chars = TfidfFeatures(word_ngrams=None, char_ngrams=(2, 3))
    members = Ensemble([OneVsAll(), (chars, OneVsAll())], fusion="rank").fit(TEXTS, Y).members_
    pairs = [(member.name, (member.features, member.model)) for member in members]
    return Ensemble(pairs, fusion=fusion).fit(3 * TEXTS, sp.vstack(3 * [Y]), label_texts=NAMES)


GROUPS = sp.csr_array(np.kron(np.eye(len(TEXTS) // 2, dtype=np.float32), [[1], [1]]))
GROUP_LABELS = sp.csr_array((GROUPS.T @ Y > 0).astype(np.float32))
CONCATENATED = ConcatFeatures([TfidfFeatures(), HashingFeatures(n_features=64)], weights=[1, 0.5])

# name -> (what makes it, the inputs whose predictions are kept)
RECIPES: dict[str, tuple[Callable[[], Any], Any]] = {
    "tagger": (lambda: tagger("xr-linear", sets="threshold"), QUESTIONS),
    "tagger-temperature": (
        lambda: tagger(OneVsAll(), features=CONCATENATED, sets="expected-f1", method="temperature"),
        QUESTIONS,
    ),
    "tagger-label-thresholds": (lambda: tagger("parabel", sets="label-thresholds"), QUESTIONS),
    "tagger-features": (
        lambda: Tagger(XRLinear()).fit(Dataset(Y=Y, label_names=NAMES, X=X)), X[:3]
    ),
    "xr-linear": (lambda: XRLinear(branching=2, max_leaf_size=2).fit(X, Y), X[:3]),
    "parabel": (lambda: Parabel(n_trees=2, max_leaf_size=2).fit(X, Y), X[:3]),
    "one-vs-all": (lambda: OneVsAll().fit(X, Y), X[:3]),
    "disentangled": (
        lambda: Disentangled(XRLinear(branching=2, max_leaf_size=2), overlap=2).fit(X, Y), X[:3]
    ),
    "eagle": (lambda: Eagle(OneVsAll()).fit(X, GROUPS, GROUP_LABELS), X[:3]),
    "deep-miml": (deep_miml, X[:3]),
    "ensemble-rank": (lambda: ensemble("rank"), QUESTIONS),
    "ensemble-calibrated": (lambda: ensemble("calibrated"), QUESTIONS),
    "ensemble-learned": (lambda: ensemble("learned"), QUESTIONS),
    "lexical": (lexical, QUESTIONS),
    "prime": (prime, QUESTIONS),
    "encoder-features": (encoder_features, QUESTIONS),
    "otseq2set": (otseq2set, QUESTIONS),
    "pass-through": (lambda: PassThrough(normalize=True).fit(X), X[:3]),
    "dense-features": (lambda: DenseFeatures().fit(X.toarray()), X[:3].toarray()),
    "tfidf": (lambda: TfidfFeatures().fit(TEXTS), QUESTIONS),
    "omikuji-forest": (lambda: OmikujiForest(n_trees=2, max_leaf_size=2).fit(X, Y), X[:3]),
    "pecos-tfidf": (pecos_tfidf, QUESTIONS),
}  # fmt: skip


def outputs(model: Any, inputs: Any) -> dict[str, Any]:
    """Return all that a model says about inputs, as values that JSON can hold."""
    if isinstance(model, Tagger):
        found = {"predict": model.predict(inputs, top_k=TOP_K)}
        if model.calibrated_ is not None:
            found["predict_proba"] = model.predict_proba(inputs, top_k=TOP_K)
            found["predict_sets"] = model.predict_sets(inputs)
        return {name: [dict(map(tuple, row)) for row in rows] for name, rows in found.items()}
    if not hasattr(model, "predict"):
        rows = model.transform(inputs)
        return {"transform": (rows.toarray() if sp.issparse(rows) else rows).tolist()}
    found = {"predict": model.predict(inputs, top_k=TOP_K)}
    if hasattr(model, "predict_sets"):
        found["predict_sets"] = model.predict_sets(inputs)
    return {
        name: [
            {str(label): score for label, score in zip(*row, strict=True) if label >= 0}
            for row in zip(kept.labels.tolist(), kept.scores.tolist(), strict=True)
        ]
        for name, kept in found.items()
    }


def make(name: str, folder: Path = CURRENT) -> None:
    """Fit and save one model, and keep what it predicts."""
    recipe, inputs = RECIPES[name]
    model = recipe()
    shutil.rmtree(folder / name, ignore_errors=True)
    with patch("secrets.token_hex", return_value="0" * 16):  # so that file names stay
        save(model, folder / name / "model")
    plain = inputs if isinstance(inputs, list) else getattr(inputs, "toarray", lambda: inputs)()
    kept = {"inputs": np.asarray(plain).tolist(), "outputs": outputs(model, inputs)}
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    (folder / name / "expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or RECIPES:
        make(wanted)
        sys.stdout.write(f"{CURRENT / wanted}\n")
