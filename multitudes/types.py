"""What passes between the stages: predictions, and the protocols every model meets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes import views
from multitudes.errors import ConfigError, DataError, counted, require

__all__ = [
    "AddsLabels",
    "Explains",
    "KeepsInstances",
    "MakesSets",
    "Model",
    "MovesToDevice",
    "PartitionModel",
    "Predictions",
    "ReadsTexts",
    "RemovesLabels",
    "RestrictsLabels",
    "ScoresPairs",
    "TakesLabelTexts",
    "TrainsInEpochs",
    "Updates",
]

Sparse: TypeAlias = Any  # a scipy CSR array or matrix; scipy's stubs cannot say "either" usefully
FloatArray: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.int64]
LabelArray: TypeAlias = npt.NDArray[np.int32]

NO_LABEL = -1
NO_SCORE = -np.inf
N_SHOWN = 5  # rows of predictions in their repr


@dataclass(frozen=True, repr=False)
class Predictions:
    """The best labels of each instance, best first.

    Parameters
    ----------
    labels : int32 array (n_instances, top_k)
        Label ids; -1 where an instance has fewer than `top_k` labels. Those come last in a row.
    scores : float32 array (n_instances, top_k)
        Scores comparable within a row, falling; -inf beside each -1.
    n_labels : int
        Size of the label space, needed for `to_csr`.
    """

    labels: LabelArray
    scores: FloatArray
    n_labels: int

    def __post_init__(self) -> None:
        if self.labels.ndim != 2 or self.labels.shape != self.scores.shape:
            raise DataError(
                "labels and scores must be two (n_instances, top_k) arrays of one shape, "
                f"got {self.labels.shape} and {self.scores.shape}"
            )

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def __repr__(self) -> str:
        lines = [f"Predictions: {counted(len(self), 'instance')}, {self._width()}"]
        lines += [
            f"  {row}: " + (", ".join(f"{label} ({score:.4g})" for label, score in pairs) or "none")
            for row, pairs in enumerate(self[:N_SHOWN]._pairs())
        ]
        if len(self) > N_SHOWN:
            lines.append(f"  ... to {len(self) - 1:,}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown = [
            [row, ", ".join(f"{label} ({score:.4g})" for label, score in pairs)]
            for row, pairs in enumerate(self[: views.MAX_ROWS]._pairs())
        ]
        head = views.paragraph("Predictions:", f"{counted(len(self), 'instance')}, {self._width()}")
        rest = views.others(len(self), views.MAX_ROWS, "instances")
        return head + views.table(["instance", "label ids (scores)"], shown, left=2) + rest

    def _width(self) -> str:
        return f"the best {self.top_k:,} of {self.n_labels:,} labels"

    def _pairs(self) -> list[list[tuple[int, float]]]:
        """Return (label, score) pairs of each row, without missing labels."""
        rows = zip(self.labels.tolist(), self.scores.tolist(), strict=True)
        return [
            [(label, score) for label, score in zip(labels, scores, strict=True) if label >= 0]
            for labels, scores in rows
        ]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the label ids, because other libraries expect an array of `predict`."""
        return np.array(self.labels, dtype=dtype, copy=copy)

    def __getitem__(self, rows: Any) -> Predictions:
        """Return the predictions of some rows: a slice, a mask or an index array."""
        return Predictions(
            np.atleast_2d(self.labels[rows]), np.atleast_2d(self.scores[rows]), self.n_labels
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(n_instances, top_k)."""
        return len(self), self.top_k

    @property
    def top_k(self) -> int:
        """The number of labels that a row can hold."""
        return int(self.labels.shape[1])

    def top(self, k: int) -> Predictions:
        """Return only the best `k` labels of each row."""
        return Predictions(self.labels[:, :k], self.scores[:, :k], self.n_labels)

    def above(self, threshold: float | None) -> Predictions:
        """Leave out the labels whose score is lower than `threshold`; None keeps all."""
        if threshold is None:
            return self
        is_number = isinstance(threshold, (int, float, np.number))
        if not is_number or np.isnan(threshold):
            raise ConfigError(f"threshold must be a number, got {threshold!r}")
        kept = self.scores >= threshold
        return Predictions(
            np.where(kept, self.labels, np.int32(NO_LABEL)),
            np.where(kept, self.scores, np.float32(NO_SCORE)),
            self.n_labels,
        )

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Put the predictions of several blocks of instances below each other."""
        return cls(
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.scores for part in parts]),
            parts[0].n_labels,
        )

    def to_csr(self) -> sp.csr_array[Any]:
        """Return scores as a sparse (n_instances, n_labels) array, without missing labels."""
        present = self.labels >= 0
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        matrix = sp.csr_array(
            (self.scores[present], self.labels[present], indptr),
            shape=(len(self), self.n_labels),
        )
        matrix.sort_indices()
        return matrix

    def to_lists(self, names: Sequence[str] | None = None) -> list[list[Any]]:
        """Return the labels of each row as a list, best first, without scores.

        Parameters
        ----------
        names : sequence of str, optional
            The name of each label id, e.g. `Tagger.classes_`; by default ids are returned.
        """
        self._check_names(names)
        kept = [[label for label, _ in pairs] for pairs in self._pairs()]
        return kept if names is None else [[names[label] for label in row] for row in kept]

    def to_frame(
        self, names: Sequence[str] | None = None, *, rows: Iterable[Any] | None = None
    ) -> Any:
        """Return a pandas DataFrame with a line for each label: row, rank, label, score.

        Parameters
        ----------
        names : sequence of str, optional
            The name of each label id, e.g. `Tagger.classes_`; by default ids are returned.
        rows : iterable, optional
            What to call the instances; defaults to 0, 1, 2, ...
        """
        self._check_names(names)
        present = self.labels >= 0
        labels: Any = self.labels[present]
        if names is not None:
            labels = [names[label] for label in labels.tolist()]
        return tidy_frame(present.sum(axis=1), labels, self.scores[present], rows)

    def _check_names(self, names: Sequence[str] | None) -> None:
        if names is not None and len(names) != self.n_labels:
            raise DataError(
                f"names must have one name per label ({self.n_labels:,}), got {len(names):,}"
            )

    @classmethod
    def from_csr(cls, scores: Sparse, top_k: int) -> Self:
        """Keep the `top_k` stored entries of each row, best first, ties to the smaller label id."""
        scores = sp.csr_array(scores)
        n_instances, n_labels = scores.shape
        labels = np.full((n_instances, top_k), NO_LABEL, np.int32)
        values = np.full((n_instances, top_k), NO_SCORE, np.float32)
        rows = np.repeat(np.arange(n_instances), np.diff(scores.indptr))
        order = np.lexsort((scores.indices, -scores.data, rows))
        rank = np.arange(scores.nnz) - scores.indptr[rows]
        kept = rank < top_k
        labels[rows[kept], rank[kept]] = scores.indices[order][kept]
        values[rows[kept], rank[kept]] = scores.data[order][kept]
        return cls(labels, values, n_labels)

    @classmethod
    def from_lists(
        cls,
        labels: Sequence[Sequence[int]],
        scores: Sequence[Sequence[float]] | None,
        n_labels: int,
    ) -> Self:
        """Build from ragged lists, best first; scores default to 0, -1, -2, ... by rank."""
        top_k = max((len(row) for row in labels), default=0)
        out = np.full((len(labels), top_k), NO_LABEL, np.int32)
        values = np.full((len(labels), top_k), NO_SCORE, np.float32)
        for i, row in enumerate(labels):
            out[i, : len(row)] = row
            values[i, : len(row)] = -np.arange(len(row)) if scores is None else scores[i]
        return cls(out, values, n_labels)


def tidy_frame(
    lengths: Sequence[int] | npt.NDArray[Any],
    labels: Any,
    scores: Any,
    rows: Iterable[Any] | None = None,
) -> Any:
    """Return a pandas DataFrame with a line for each predicted label: row, rank, label, score.

    Parameters
    ----------
    lengths : sequence of int
        How many labels each instance has.
    labels, scores : sequences
        Of one instance after the other, best first.
    rows : iterable, optional
        What to call the instances; defaults to 0, 1, 2, ...
    """
    pandas = require("pandas", extra="pandas")
    counts = np.asarray(lengths, np.int64)
    called = np.arange(len(counts)) if rows is None else pandas.Index(list(rows)).to_numpy()
    if len(called) != len(counts):
        raise DataError(f"rows must name each instance ({len(counts):,}), got {len(called):,}")
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return pandas.DataFrame(
        {
            "row": np.repeat(called, counts),
            "rank": np.arange(len(starts)) - starts + 1,
            "label": labels,
            "score": scores,
        }
    )


@runtime_checkable
class Model(Protocol):
    """What every model of the library offers over X (features or texts) and Y (CSR)."""

    def fit(self, X: Any, Y: Sparse) -> Self:
        """Learn from instances X and their labels Y; return self."""

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        """Return the best `top_k` labels of each instance."""


@runtime_checkable
class PartitionModel(Protocol):
    """A model made of label trees, which can be trained on trees with other leaves.

    Each of `partitions` has one tree, a setting `tree` that brings one, and the methods
    `fit_matcher(X, Y)`, `match(X)` and `fit_ranker(X, Y, tree)` beside `fit` and `predict`.
    """

    def fit(self, X: Any, Y: Sparse) -> Self:
        """Learn from instances X and their labels Y; return self."""

    def partitions(self) -> Sequence[Any]:
        """Return unfitted models of one tree each, whose scores are averaged."""


@runtime_checkable
class ReadsTexts(Protocol):
    """A model that learns from texts, not from features X: ``reads_texts = True``."""

    reads_texts: ClassVar[bool]


@runtime_checkable
class TakesLabelTexts(Protocol):
    """A model that reads the texts of labels too: ``fit(texts, y, *, label_texts=...)``."""

    needs_label_texts: ClassVar[bool]
    """Whether it cannot do without them; if not, it learns better with them."""


@runtime_checkable
class TrainsInEpochs(Protocol):
    """A model over texts that can be measured after each epoch, and stopped and resumed.

    Its ``fit`` takes ``validation=(texts, y)``, by which it keeps its best epoch, and
    ``checkpoint=folder``, from which a training that was stopped goes on.
    """

    trains_in_epochs: ClassVar[bool]


@runtime_checkable
class MakesSets(Protocol):
    """A model that decides by itself how many labels an instance has."""

    def predict_sets(self, X: Any) -> Predictions:
        """Return the set of labels of each instance."""


@runtime_checkable
class Explains(Protocol):
    """A model that can say why an instance got a label."""

    def explain(self, x: Any, label: int) -> Any:
        """Return what speaks for and against a label: a record with `named` and `table`."""


@runtime_checkable
class Updates(Protocol):
    """A model that learns from further instances without starting over."""

    def partial_fit(self, X: Any, y: Sparse) -> Self:
        """Learn from further instances of the labels it knows."""


@runtime_checkable
class AddsLabels(Protocol):
    """A model that takes new labels without training the others again."""

    add_labels: Callable[..., Self]


@runtime_checkable
class RemovesLabels(Protocol):
    """A model that can forget labels."""

    def remove_labels(self, labels: Sequence[int]) -> Self:
        """Drop labels by id; the others keep their order."""


@runtime_checkable
class ScoresPairs(Protocol):
    """A model that can score given (instance, label) pairs, reached by its search or not."""

    def score_pairs(self, X: Any, pairs: Any) -> FloatArray:
        """Return the score of each stored entry of `pairs`."""


@runtime_checkable
class RestrictsLabels(Protocol):
    """A model whose ``predict`` takes ``labels``: the ids of those that may be predicted."""

    restricts_labels: ClassVar[bool]


@runtime_checkable
class MovesToDevice(Protocol):
    """A model, or features, that compute with torch."""

    def to(self, device: str | None = None, *, precision: str | None = None) -> Self:
        """Move to a device, e.g. "cuda", or predict in a number format; None keeps either."""


@runtime_checkable
class KeepsInstances(Protocol):
    """A model whose explanations may name training instances; see `Explains`."""

    instances_: Any
    """What it has kept of them; None if nothing."""
