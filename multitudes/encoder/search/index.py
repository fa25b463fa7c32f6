"""PrototypeIndex: the labels whose vectors have the largest inner product with an embedding."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from multitudes.encoder.search.approximate import (
    AUTO,
    FLAT,
    HNSW,
    IVF_PQ,
    CandidateSearch,
    IndexConfig,
    build_search,
    check_search,
    restore_search,
)
from multitudes.errors import DataError, StoreError
from multitudes.scores.filtering import check_pairs, remove_pairs
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import NO_LABEL, NO_SCORE, FloatArray, IntArray, Predictions, blank_lists
from multitudes.validation import checked_count, checked_label_ids
from multitudes.validation.arrays import REAL, as_array

QUERIES_AT_ONCE = 8192
"""Rows searched before their filter pairs are removed: bounds how much too much is fetched."""
FLOATS_GATHERED = 1 << 24
"""Numbers of candidates' vectors that are compared exactly at once."""
LABELS_AT_ONCE = 1 << 20
"""Label vectors that are sent to a GPU which does not keep them."""
CELLS_ON_CPU = 1 << 25  # (query, label) scores in memory at once, 4 bytes each
CELLS_ON_GPU = 1 << 29


class PrototypeIndex:
    """Maximum inner product search over label vectors; scores are exact, whatever the kind.

    Parameters
    ----------
    vectors : float array (n_labels, d)
        One row per label, of unit length for all kinds but flat to work well.
    config : IndexConfig

    Attributes
    ----------
    kind : str
        What "auto" has become: "flat", "hnsw" or "ivf-pq".
    vectors : float32 array (n_labels, d)
    """

    def __init__(self, vectors: npt.ArrayLike, config: IndexConfig = IndexConfig()) -> None:
        self.config = config
        self.vectors: FloatArray = _checked(vectors, "vectors")
        self.device = _device(self.config)
        self.kind = _kind(self.config, len(self.vectors), self.device)
        self._search: CandidateSearch | None = None
        if self.kind != FLAT:
            self._search = build_search(self.kind, self.vectors, self.config)
        self._on_device: torch.Tensor | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    def search(
        self,
        queries: npt.ArrayLike | torch.Tensor,
        top_k: int = 5,
        *,
        filter_pairs: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
    ) -> Predictions:
        """The best labels of each query.

        Parameters
        ----------
        queries : float array or tensor (n, d)
        top_k : int
            Rows are padded with -1 if there are fewer labels.
        filter_pairs : int array (n_pairs, 2), optional
            (row, label) not to be found; the next best labels move up.
        labels : int array, optional
            Only these labels are searched, all of them, whatever the kind.
        """
        top_k = checked_count(top_k, "top_k")
        if labels is not None:
            return self._among(
                np.unique(checked_label_ids(labels, len(self))), queries, top_k, filter_pairs
            )
        if isinstance(queries, torch.Tensor):
            queries = queries.detach().float().cpu().numpy()
        queries = _checked(queries, "queries", dim=self.vectors.shape[1])
        pairs = check_pairs(
            filter_pairs if filter_pairs is not None else [], len(queries), len(self)
        )
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        labels, scores = blank_lists(len(queries), top_k)
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            chunk = queries[start : start + QUERIES_AT_ONCE]
            bounds = np.searchsorted(pairs[:, 0], [start, start + len(chunk)])
            own = pairs[slice(*bounds)] - np.array([start, 0])
            found = self._best(chunk, top_k, own)
            rows, columns = slice(start, start + len(chunk)), slice(0, found.top_k)
            labels[rows, columns], scores[rows, columns] = found.labels, found.scores
        return Predictions(labels, scores, len(self))

    def _among(
        self, labels: IntArray, queries: Any, top_k: int, filter_pairs: npt.ArrayLike | None
    ) -> Predictions:
        """The best of some labels, given in order, of each query."""
        part = PrototypeIndex(self.vectors[labels], replace(self.config, kind=FLAT))
        given: Any = [] if filter_pairs is None else filter_pairs
        pairs = check_pairs(given, len(queries), len(self))
        pairs = pairs[np.isin(pairs[:, 1], labels)]
        pairs[:, 1] = np.searchsorted(labels, pairs[:, 1])
        found = part.search(queries, top_k, filter_pairs=pairs)
        ids = np.where(found.labels < 0, NO_LABEL, labels[found.labels]).astype(np.int32)
        return Predictions(ids, found.scores, len(self))

    def add(self, vectors: npt.ArrayLike) -> None:
        """Add labels; they get the next ids."""
        further = _checked(vectors, "vectors", dim=self.vectors.shape[1])
        self.vectors = np.concatenate([self.vectors, further])
        self._on_device = None
        if self._search is not None:
            self._search.add(further)

    def _best(self, queries: FloatArray, top_k: int, pairs: IntArray) -> Predictions:
        """Some queries' best labels without the given (row, label) pairs."""
        spare = int(np.bincount(pairs[:, 0]).max()) if len(pairs) else 0
        width = min(top_k + spare, len(self))
        if self._search is None:
            found = self._exact(torch.from_numpy(queries), width)
        else:
            wanted = width * (self.config.over_fetch if self.kind == IVF_PQ else 1)
            labels = self._search.candidates(queries, min(wanted, len(self)))
            found = self._ranked(queries, labels, width)
        scores, ids = (part.numpy() for part in found)
        ids = np.where(np.isneginf(scores), NO_LABEL, ids).astype(np.int32)
        predictions = Predictions(ids, scores, len(self))
        return remove_pairs(predictions, pairs, top_k=top_k) if len(pairs) else predictions

    def _exact(self, queries: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The best `width` of all labels of each query."""
        if self.config.label_memory == "device" or self.device.type != "cuda":
            return exact_top_k(queries, self._vectors_on_device(), width)
        return exact_top_k_in_pieces(queries, self.vectors, width, device=self.device)

    def _ranked(
        self, queries: FloatArray, candidates: IntArray, width: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The best `width` candidates of each query by their exact scores."""
        rows = max(1, FLOATS_GATHERED // (candidates.shape[1] * queries.shape[1]))
        parts = []
        for start in range(0, len(queries), rows):
            some = candidates[start : start + rows]
            labels = torch.from_numpy(some)  # (n, c)
            found = torch.from_numpy(self.vectors[np.maximum(some, 0)])  # (n, c, d)
            query = torch.from_numpy(queries[start : start + rows, :, None])  # (n, d, 1)
            scores = (found @ query).squeeze(2)  # (n, c)
            scores = scores.masked_fill(labels < 0, NO_SCORE)
            parts.append([part[:, :width] for part in best_first(scores, labels)])
        best, labels = (torch.cat(part) for part in zip(*parts, strict=True))
        return best, labels

    def _vectors_on_device(self) -> torch.Tensor:
        if self._on_device is None:
            with warnings.catch_warnings():
                # A memory-mapped array is read-only, which torch warns of; nothing writes here.
                warnings.filterwarnings("ignore", message=".*not writable.*")
                self._on_device = torch.from_numpy(self.vectors).to(self.device)
        return self._on_device

    # ------------------------------------------------------------------ store

    def to_state(self) -> State:
        """Vectors and, for an approximate kind, what its search has built."""
        arrays = {"vectors": self.vectors}
        if self._search is not None:
            arrays |= self._search.arrays()
        config = {"config": self.config.to_dict(), "kind": self.kind}
        return State("prototype-index", config=config, arrays=arrays)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the vectors, and what faiss would trust."""
        checks.names(state, config=("config", "kind"), arrays=state.arrays)
        config = checks.settings(IndexConfig, state.config["config"], "config")
        kind = checks.choice(state, "kind", (FLAT, HNSW, IVF_PQ))
        vectors = checks.array(state, "vectors", "float32", (None, None))
        if not vectors.size:
            raise StoreError("it holds no vectors")
        checks.finite(vectors, "vectors")
        check_search(state, kind, config)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The index as it was saved, of the same kind whatever this machine has."""
        index = cls.__new__(cls)
        index.config = IndexConfig.from_dict(state.config["config"])
        index.vectors, index.kind = state.arrays["vectors"], state.config["kind"]
        index.device, index._on_device, index._search = _device(index.config), None, None
        if index.kind != FLAT:
            index._search = restore_search(index.kind, index.vectors, index.config, state.arrays)
        return index


def _device(config: IndexConfig) -> torch.device:
    if config.device == AUTO:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(config.device)


def _kind(config: IndexConfig, n_labels: int, device: torch.device) -> str:
    if config.kind != AUTO:
        return config.kind
    if n_labels <= config.flat_up_to or device.type == "cuda":
        return FLAT
    return HNSW if n_labels <= config.hnsw_up_to else IVF_PQ


def _checked(values: Any, name: str, *, dim: int | None = None) -> FloatArray:
    """Return a finite float32 matrix in C order, with `dim` columns if given."""
    given = as_array(values)
    if given is None or given.dtype.kind not in REAL:
        raise DataError(f"{name} must be a (n, d) array of numbers, got {type(values).__name__}")
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(given, np.float32)
    if array.ndim != 2 or 0 in array.shape[1:] or (dim is None and not len(array)):
        raise DataError(f"{name} must be a (n, d) array of numbers, got shape {array.shape}")
    if dim is not None and array.shape[1] != dim:
        raise DataError(f"{name} have {array.shape[1]} dimensions, the index has {dim}")
    if not np.isfinite(array).all():
        row = int(np.argmax(~np.isfinite(array).all(axis=1)))
        raise DataError(f"row {row} of {name} has a NaN or infinite value")
    return array


def exact_top_k(
    queries: torch.Tensor, vectors: torch.Tensor, top_k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best labels of each query, best first, ties to the smaller id.

    Parameters
    ----------
    queries : float32 tensor (n, d)
    vectors : float32 tensor (n_labels, d)
        On the device that does the work.
    top_k : int
        From 1 to n_labels.

    Returns
    -------
    scores, labels : float32 and int64 tensors (n, top_k), on the CPU
    """
    rows = max(1, cells_in_memory(vectors.device) // len(vectors))
    with torch.autocast(vectors.device.type, enabled=False):  # validation may run inside training
        parts = [
            _best_of(queries[start : start + rows].to(vectors.device) @ vectors.T, top_k)
            for start in range(0, len(queries), rows)
        ]
    if not parts:
        return torch.empty(0, top_k), torch.empty(0, top_k, dtype=torch.int64)
    scores, labels = zip(*parts, strict=True)
    return torch.cat(scores), torch.cat(labels)


def exact_top_k_in_pieces(
    queries: torch.Tensor,
    vectors: FloatArray,
    top_k: int,
    *,
    device: torch.device,
    labels_at_once: int = LABELS_AT_ONCE,
) -> tuple[torch.Tensor, torch.Tensor]:
    """As `exact_top_k`, of label vectors in the host's memory that are sent in pieces."""
    best = torch.empty(len(queries), 0)
    labels = torch.empty(len(queries), 0, dtype=torch.int64)
    for start in range(0, len(vectors), labels_at_once):
        piece = torch.from_numpy(vectors[start : start + labels_at_once]).to(device)
        scores, places = exact_top_k(queries, piece, min(top_k, len(piece)))
        both = torch.cat([best, scores], dim=1), torch.cat([labels, places + start], dim=1)
        best, labels = (part[:, :top_k] for part in best_first(*both))
    return best, labels


def cells_in_memory(device: torch.device) -> int:
    """Scores to hold at once on a device."""
    if device.type != "cuda":
        return CELLS_ON_CPU
    free, _ = torch.cuda.mem_get_info(device)
    return min(CELLS_ON_GPU, max(1, free // 16))  # top-k needs room of its own


def best_first(scores: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and labels (n, k) with falling scores, ties by rising label id."""
    labels, order = labels.sort(dim=1)  # (n, k)
    scores, places = scores.gather(1, order).sort(dim=1, descending=True, stable=True)  # (n, k)
    return scores, labels.gather(1, places)


def _best_of(scores: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The best of all scores (n, n_labels), on the CPU."""
    width = min(top_k + 1, scores.shape[1])
    best, labels = best_first(*scores.topk(width, dim=1))  # (n, width)
    # topk picks any of equal scores: if a tie crosses the border, sort the whole row.
    tied = best[:, top_k - 1] == best[:, -1] if width > top_k else best[:, 0].new_zeros(0)
    rows = tied.nonzero().flatten()
    best, labels = best[:, :top_k], labels[:, :top_k]
    for row in rows.tolist():
        ranked, order = scores[row].sort(descending=True, stable=True)  # (n_labels,)
        best[row], labels[row] = ranked[:top_k], order[:top_k]
    return best.cpu(), labels.cpu()
