"""What passes between the stages: predictions, and the protocols every model meets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from multitudes import memory, views
from multitudes.errors import ConfigError, DataError, counted
from multitudes.frames import tidy_frame
from multitudes.scikit_learn import sparse as sp

__all__ = [
    "AddsLabels",
    "Explains",
    "FusesMembers",
    "KeepsInstances",
    "LearnsFromNames",
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
        labels, scores = _real_array(self.labels, "iu"), _real_array(self.scores, "fiu")
        if labels.ndim != 2 or labels.shape != scores.shape:
            raise DataError(
                "labels and scores must be two (n_instances, top_k) arrays of one shape, "
                f"got {labels.shape} and {scores.shape}"
            )
        if labels.size and (labels.max() >= self.n_labels or labels.min() < NO_LABEL):
            row, rank = np.argwhere((labels >= self.n_labels) | (labels < NO_LABEL))[0]
            raise DataError(
                f"predictions, instance {row}, rank {rank + 1}: label {labels[row, rank]} is not "
                f"in 0..{self.n_labels - 1} (or -1 for none): use ids of the label space"
            )
        object.__setattr__(self, "labels", labels.astype(np.int32, copy=False))
        object.__setattr__(self, "scores", scores.astype(np.float32, copy=False))

    @classmethod
    def _of_kernel(cls, labels: LabelArray, scores: FloatArray, n_labels: int) -> Predictions:
        """Return predictions that a kernel has made, whose arrays need no checking."""
        found = object.__new__(cls)
        object.__setattr__(found, "labels", labels)
        object.__setattr__(found, "scores", scores)
        object.__setattr__(found, "n_labels", n_labels)
        return found

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
        _check_width(k, "k")
        return Predictions(self.labels[:, :k], self.scores[:, :k], self.n_labels)

    def above(self, threshold: float | None) -> Predictions:
        """Leave out the labels whose score is lower than `threshold`; None keeps all."""
        if threshold is None:
            return self
        is_number = isinstance(threshold, (int, float, np.integer, np.floating))
        if not is_number or threshold != threshold:  # NaN
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
        widths = {part.shape[1] if isinstance(part, Predictions) else None for part in parts}
        if len(widths) != 1 or None in widths:
            raise DataError("parts must be Predictions of one top_k, at least one of them")
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
        if isinstance(names, Mapping):
            raise DataError("names must be a sequence, the name of each label id, got a mapping")
        if names is not None and len(names) != self.n_labels:
            raise DataError(
                f"names must have one name per label ({self.n_labels:,}), got {len(names):,}"
            )

    @classmethod
    def from_csr(cls, scores: Sparse, top_k: int) -> Self:
        """Keep the `top_k` stored entries of each row, best first, ties to the smaller label id."""
        scores = _checked_csr(scores)
        n_instances, n_labels = scores.shape
        _check_width(top_k, "top_k")
        labels, values = blank_lists(n_instances, int(top_k))
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
        if sp.issparse(labels) or sp.issparse(scores):
            raise DataError("from_lists takes lists of ids, got a sparse matrix: use from_csr")
        try:
            top_k = max((len(row) for row in labels), default=0)
            blank, values = blank_lists(len(labels), top_k)
            out: Any = blank.astype(np.int64)  # so that an id that is too large is refused, not cut
            for i, row in enumerate(labels):
                out[i, : len(row)] = row
                values[i, : len(row)] = -np.arange(len(row)) if scores is None else scores[i]
        except (TypeError, ValueError, LookupError, OverflowError, AttributeError) as error:
            raise DataError(
                f"labels must be lists of ids, and scores lists of as many numbers: {error}"
            ) from error
        return cls(out, values, n_labels)


def blank_lists(n_instances: int, top_k: int) -> tuple[LabelArray, FloatArray]:
    """Return labels and scores (n_instances, top_k) without any label in them."""
    labels, scores = room_for_lists(n_instances, top_k)
    labels.fill(NO_LABEL)
    scores.fill(NO_SCORE)
    return labels, scores


def room_for_lists(n_instances: int, top_k: int) -> tuple[LabelArray, FloatArray]:
    """Return labels and scores (n_instances, top_k) to be filled; memory is asked for first."""
    memory.ask(
        16 * n_instances * top_k,
        f"room for {top_k:,} labels of {counted(n_instances, 'instance')}",
        advice="lower top_k, or predict fewer instances at once",
    )
    shape = (n_instances, top_k)
    return np.empty(shape, np.int32), np.empty(shape, np.float32)


def _check_width(k: Any, name: str) -> None:
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    if not whole or k < 0:
        raise ConfigError(f"{name} must be a whole number >= 0, got {k!r}")


def _real_array(values: Any, kinds: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in kinds:
        raise DataError(f"predictions are arrays of label ids and scores, got {array.dtype}")
    return array


def _checked_csr(scores: Any) -> Sparse:
    """Return a CSR of scores, or raise a DataError; other formats are not converted unchecked."""
    is_sparse: bool = sp.issparse(scores)
    if isinstance(scores, np.ndarray) and scores.ndim == 2 and scores.dtype.kind in "fiub":
        memory.ask(scores.size, f"scores of shape {scores.shape}, dense")
        dtype = np.float32 if scores.dtype == np.float32 else np.float64
        return sp.csr_array(scores.astype(dtype, copy=False))
    if not is_sparse or scores.format != "csr" or len(scores.shape) != 2:
        raise DataError(
            f"scores must be a CSR matrix (n_instances, n_labels), got {type(scores).__name__}"
        )
    try:
        scores.check_format(full_check=True)
        if (np.diff(scores.indptr) < 0).any():  # not looked at where nothing is stored
            raise ValueError("its row pointers fall")
    except Exception as error:  # whatever arrays of the wrong kind lead to
        raise DataError(f"scores is corrupt: {error}") from error
    if scores.dtype.kind not in "fiu":
        raise DataError(f"scores must be numbers, got {scores.dtype}")
    return scores


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
class LearnsFromNames(Protocol):
    """A model that the names of labels are enough for: ``fit([], None, label_texts=...)``."""

    learns_from_names: ClassVar[bool]


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


@runtime_checkable
class FusesMembers(Protocol):
    """A model made of others, each over features of its own: see `multitudes.fusion.Ensemble`."""

    members: Any
    """Models, pairs of features and a model, or taggers; fitted or not."""

    def label_names_of_members(self) -> list[str]:
        """Return the names of all labels that fitted taggers among the members know."""
