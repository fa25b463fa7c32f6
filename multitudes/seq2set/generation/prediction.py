"""Predictions of a network for texts as word ids: sets, or labels in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.deep.memory import explain_out_of_memory
from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.training import digest_of
from multitudes.metrics import set_scores
from multitudes.progress import track
from multitudes.seq2set.generation.generate import DecodingConfig, generate
from multitudes.seq2set.network.seq_network import SeqNetwork
from multitudes.seq2set.words.batches import BatchConfig, sorted_rows, word_batch
from multitudes.types import FloatArray, Predictions, Sparse, blank_lists

CANDIDATES = 50
"""Labels that each step offers at least where all steps count: scores must not hang on `top_k`."""


@dataclass(frozen=True)
class Predictor:
    """A network and how it generates.

    Parameters
    ----------
    network : SeqNetwork
        In evaluation mode.
    decoding : DecodingConfig
    batches : BatchConfig
    ends : bool
        Whether the empty label ends a sequence.
    """

    network: SeqNetwork
    decoding: DecodingConfig
    batches: BatchConfig
    ends: bool

    def sets(self, rows: TokenRows) -> Predictions:
        """The labels that were generated, likeliest first; -1 where a set is smaller."""
        return self._predict(rows, n_candidates=1, top_k=self._largest)

    def best(self, rows: TokenRows, *, top_k: int) -> Predictions:
        """The labels with the highest scores over all steps, generated or not; see `rank_by`."""
        top_k = min(top_k, self.network.n_labels)
        # By the best step, the k likeliest labels of each are enough.
        n_candidates = top_k if self.decoding.rank_by == "best" else max(top_k, CANDIDATES)
        return self._predict(rows, n_candidates=n_candidates, top_k=top_k, ranked=True)

    @property
    def _largest(self) -> int:
        return self.network.decoder.n_steps - self.ends

    def _predict(
        self, rows: TokenRows, *, n_candidates: int, top_k: int, ranked: bool = False
    ) -> Predictions:
        labels, scores = blank_lists(len(rows), top_k)
        size = max(1, self.batches.predict_batch_size // self.decoding.beam_width)
        with (
            explain_out_of_memory(lower=["predict_batch_size", "beam_width", "max_length"]),
            track("generating labels", len(rows), "texts") as task,
        ):
            for some in sorted_rows(rows.lengths, batch_size=size):
                words = word_batch(
                    rows.take(some),
                    round_up_to=self.batches.round_up_to,
                    device=self.network.device,
                )
                made = generate(
                    self.network, words, config=self.decoding, ends=self.ends, top_k=n_candidates
                )
                found = made.labels, made.probabilities
                if ranked:
                    found = made.candidates.flatten(1), made.candidate_probabilities.flatten(1)
                best = best_of_steps(
                    found[0].cpu().numpy(),
                    found[1].cpu().numpy(),
                    n_labels=self.network.n_labels,
                    top_k=top_k,
                    rank_by=self.decoding.rank_by if ranked else "best",
                )
                labels[some], scores[some] = best.labels, best.scores
                task.advance(len(some))
        return Predictions(labels, scores, self.network.n_labels)


@dataclass(frozen=True)
class Validation:
    """Measures the sets of instances kept aside.

    Parameters
    ----------
    predictor : Predictor
    rows : TokenRows
    Y : CSR (n, n_labels)
    """

    predictor: Predictor
    rows: TokenRows
    Y: Sparse

    def digest(self) -> str:
        """A fingerprint: other instances may choose another epoch."""
        return digest_of(self.rows.ids, self.rows.offsets, self.Y.indices, self.Y.indptr)

    def __call__(self) -> dict[str, float]:
        """Return the metrics by name; micro-F1, which chooses the best epoch, comes first."""
        found = self.predictor.sets(self.rows)
        micro = set_scores(found, self.Y)
        return {
            "micro-F1": micro.f1,
            "micro-P": micro.precision,
            "micro-R": micro.recall,
            "example-F1": set_scores(found, self.Y, average="example").f1,
        }


def best_of_steps(
    labels: npt.NDArray[np.int64],
    scores: FloatArray,
    *,
    n_labels: int,
    top_k: int,
    rank_by: str = "best",
) -> Predictions:
    """Each label's score over all steps, the `top_k` best of each row.

    A label that is among the k best by its best step is among the k likeliest of that step, so that
    k candidates a step are enough. By "any", a label counts as 0 at a step where it is not a
    candidate.

    Parameters
    ----------
    labels : int64 array (n, m)
        Labels of all steps, -1 for none; a label may come more than once.
    scores : float32 array (n, m)
        Their probabilities.
    n_labels : int
    top_k : int
    rank_by : "best" or "any"
        The highest of a label's probabilities p, or ``1 - prod(1 - p)``.
    """
    rows = np.repeat(np.arange(len(labels)), labels.shape[1])
    flat, values = labels.ravel(), scores.ravel()
    present = flat >= 0
    rows, flat, values = rows[present], flat[present], values[present]
    order = np.lexsort((-values, flat, rows))
    rows, flat, values = rows[order], flat[order], values[order]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (flat[1:] != flat[:-1])
    first = np.flatnonzero(is_first)
    best = values[first]
    if rank_by == "any" and len(first):
        with np.errstate(divide="ignore"):  # a probability of 1
            absent = np.add.reduceat(np.log1p(-np.minimum(values.astype(np.float64), 1.0)), first)
        best = -np.expm1(absent)
    counts = np.bincount(rows[first], minlength=len(labels))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    shape = (len(labels), n_labels)
    matrix = sp.csr_array((best.astype(np.float32), flat[first], indptr), shape=shape)
    return Predictions.from_csr(matrix, top_k)
