"""Networks: a text alone is answered as it is in a batch, and bags of one as one would expect."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from campaigns.differential.problems import Rng, drawn_problem, hold

NEEDS = ("torch", "transformers")
TOLERANCE = 1e-4


def prime(rng: Rng) -> None:
    from multitudes.deep import TrainingConfig
    from multitudes.encoder import BackboneConfig, Prime, SamplerConfig

    backbone = BackboneConfig(
        name="scratch", max_length=16, scratch_layers=1, scratch_dim=32, scratch_vocabulary=512
    )
    training = TrainingConfig(epochs=1, device="cpu")
    _check(Prime(backbone=backbone, training=training, sampler=SamplerConfig(batch_size=16)), rng)


def otseq2set(rng: Rng) -> None:
    from multitudes.seq2set import (
        BatchConfig,
        NetworkConfig,
        OTSeq2Set,
        Seq2SetTraining,
        WordsConfig,
    )

    model = OTSeq2Set(
        words=WordsConfig(dim=8, max_length=12),
        network=NetworkConfig(hidden=8, layers=1, kernels=(3,), strides=(1,)),
        batches=BatchConfig(batch_size=8),
        training=Seq2SetTraining(epochs=1, device="cpu"),
    )
    _check(model, rng)


def _check(model: object, rng: Rng) -> None:
    """Fit on texts that name their labels, and ask for several at once and one by one."""
    names = ["red", "blue", "green", "black", "white", "brown"][: rng.integers(2, 7)]
    Y = rng.random((int(rng.integers(8, 40)), len(names))) < 0.4
    Y[np.arange(len(Y)), rng.integers(0, len(names), len(Y))] = True
    words = np.array(["a", "thing", "with", "of", "old"])
    texts = [" ".join([*np.array(names)[row], *rng.choice(words, rng.integers(0, 6))]) for row in Y]
    fitted = model.fit(texts, sp.csr_array(Y.astype(np.float32)), label_texts=names)  # type: ignore[attr-defined]
    asked = [*texts[:5], "", "nothing that is known"]
    batch = fitted.predict(asked, top_k=len(names))
    for i, text in enumerate(asked):
        one = fitted.predict([text], top_k=len(names))
        hold(one.scores[0], batch.scores[i], f"text {i} alone", atol=TOLERANCE, rtol=TOLERANCE)


def deep_miml(rng: Rng) -> None:
    from multitudes.groups import DeepMIML, MIMLTraining

    problem = drawn_problem(rng)
    alone = sp.csr_array(sp.eye_array(problem.X.shape[0], dtype=np.float32))
    model = DeepMIML(training=MIMLTraining(n_epochs=2), device="cpu")
    fitted = model.fit(problem.X, alone, problem.Y)
    batch = fitted.predict(problem.asked, top_k=3)
    for i in range(problem.asked.shape[0]):
        one = fitted.predict(problem.asked[[i]], top_k=3)
        hold(one.scores[0], batch.scores[i], f"row {i} alone", atol=TOLERANCE, rtol=TOLERANCE)


TARGETS = {"prime": prime, "otseq2set": otseq2set, "deep-miml": deep_miml}


def unavailable() -> dict[str, str]:
    """Return the targets that cannot run here, and why."""
    missing = [name for name in NEEDS if find_spec(name) is None]
    return dict.fromkeys(TARGETS, f"{missing[0]} is not installed") if missing else {}
