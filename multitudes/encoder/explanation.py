"""Why a label was predicted: its nearest training instances, and the sources of its prototype."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from multitudes import views
from multitudes.encoder.prototypes.network import SOURCES, PrototypeNetwork
from multitudes.errors import DataError
from multitudes.types import FloatArray, IntArray, Sparse
from multitudes.validation import checked_count, checked_label

NOT_KEPT = "training texts: not kept; train with keep_instances=true to see them"
SOURCE_NAMES = {"text": "its text", "centroid": "its training texts", "free": "its free vector"}


class NearestInstances(NamedTuple):
    """Training instances of a label, nearest first.

    Attributes
    ----------
    instances : int64 array (n,)
        Rows of the training set.
    similarities : float32 array (n,)
        Similarity of each to the query, falling.
    texts : tuple of str, optional
        The text of each, once the explanation is `named`.
    """

    instances: IntArray
    similarities: FloatArray
    texts: tuple[str, ...] | None = None

    @property
    def pairs(self) -> tuple[tuple[str, float], ...]:
        """(text, similarity) of each; one whose text is not known is "instance 7"."""
        texts = self.texts or [f"instance {row}" for row in self.instances.tolist()]
        return tuple(zip(texts, self.similarities.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a text got a label: what each source contributes, and similar training instances.

    Parameters
    ----------
    label : int or str
        Its id, or its name.
    score : float
        As `predict` gives it: the cosine of the text and the label's vector.
    shares : dict of float
        What "text", "centroid" and "free" (vector) of the label contribute; 0 for one it lacks.
        They add up to the cosine of the text and the label's prototype, which is the score unless
        a classifier was trained on top. Without a text they add up to 1: what the prototype is
        made of.
    nearest : NearestInstances or None
        Training instances of the label, those most like the text first; None if the model has
        not kept its instances (``keep_instances``).
    note : str
        A remark for who reads it; mostly empty.
    """

    label: int | str
    score: float
    shares: dict[str, float]
    nearest: NearestInstances | None
    note: str = ""

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        parts = [(SOURCE_NAMES[source], share) for source, share in self.shares.items()]
        lines = [
            views.paragraph(views.bold(self._name()), f"score {self.score:.4f}"),
            views.paragraph("prototype:", views.weighted_words(parts)),
        ]
        if self.nearest is None:
            lines.append(views.paragraph(views.muted(NOT_KEPT)))
        else:
            near = [
                [views.weighted("", value, largest=1.0), text] for text, value in self.nearest.pairs
            ]
            lines.append(views.table(["similarity", "training text"], near, left=2))
        if self.note:
            lines.append(views.paragraph(views.muted(self.note)))
        return "".join(lines)

    def named(self, label: str | None, texts: Mapping[int, str] | None = None) -> Explanation:
        """The same with names: of the label, and the texts of training rows; None keeps ids."""
        nearest = self.nearest
        if nearest is not None and texts is not None:
            rows = nearest.instances.tolist()
            found = tuple(texts.get(row, f"instance {row}") for row in rows)
            nearest = nearest._replace(texts=found)
        return dataclasses.replace(
            self, label=self.label if label is None else label, nearest=nearest
        )

    def table(self, *, top: int = 8) -> str:
        """A line for the sources of the prototype, and one for each of the `top` nearest texts."""
        parts = [f"{SOURCE_NAMES[source]} {share:+.2f}" for source, share in self.shares.items()]
        lines = [f"{self._name()}: score {self.score:.4f}", f"  prototype: {', '.join(parts)}"]
        if self.nearest is None:
            lines.append(f"  {NOT_KEPT}")
        else:
            lines += [f"  {value:.2f}  {text}" for text, value in self.nearest.pairs[:top]]
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)

    def _name(self) -> str:
        return self.label if isinstance(self.label, str) else f"label {self.label}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: label, score, shares, and (text, similarity) pairs or None."""
        nearest = None if self.nearest is None else self.nearest.pairs
        return {
            "label": self.label,
            "score": self.score,
            "shares": self.shares,
            "nearest": nearest,
            "note": self.note,
        }


def nearest_instances(
    label: int,
    query: npt.ArrayLike,
    embeddings: FloatArray | npt.NDArray[np.float16],
    Y: Sparse,
    *,
    top_k: int = 5,
) -> NearestInstances:
    """Return the training instances of a label that are most like a query.

    Parameters
    ----------
    label : int
    query : float array (d,)
        A text's embedding; or the label's own vector, for the instances most typical of it.
    embeddings : float32 or float16 array (n_instances, d)
        Of the training set.
    Y : CSR or CSC (n_instances, n_labels)
        CSC is searched without a pass over all labels.
    top_k : int
        How many, at most; ties go to the smaller row.
    """
    label = checked_label(label, Y.shape[1])
    top_k = checked_count(top_k, "top_k")
    vector = np.asarray(query, np.float32)
    if vector.shape != embeddings.shape[1:]:
        raise DataError(
            f"query must be one embedding of shape {embeddings.shape[1:]}, got {vector.shape}"
        )
    if Y.shape[0] != len(embeddings):
        raise DataError(f"there are {len(embeddings):,} embeddings, and Y has {Y.shape[0]:,} rows")
    instances = np.unique(_rows_of_label(Y, label))
    similarities = (embeddings[instances] @ vector).astype(np.float32)
    best = np.argsort(-similarities, kind="stable")[:top_k]
    return NearestInstances(instances[best], similarities[best])


def _rows_of_label(Y: Sparse, label: int) -> IntArray:
    if Y.format == "csc":
        return np.asarray(Y.indices[Y.indptr[label] : Y.indptr[label + 1]], np.int64)
    stored = np.flatnonzero(Y.indices == label)
    return np.asarray(np.searchsorted(Y.indptr, stored, side="right") - 1, np.int64)


@dataclass(frozen=True)
class KeptInstances:
    """Embeddings of the training instances, and the labels of each.

    Two bytes for each number: 100,000 instances of 384 dimensions take 77 MB.

    Parameters
    ----------
    vectors : float16 array (n_instances, d)
    Y : CSC (n_instances, n_labels)
    """

    vectors: npt.NDArray[np.float16]
    Y: Sparse

    @classmethod
    def of(cls, embeddings: FloatArray, Y: Sparse) -> Self:
        """From embeddings (n_instances, d) and Y (n_instances, n_labels) of any sparse format."""
        return cls(embeddings.astype(np.float16), sp.csc_array(Y))

    def nearest(self, label: int, query: FloatArray, *, top_k: int) -> NearestInstances:
        """The instances of a label most like a query (d,); a label added later has none."""
        top_k = checked_count(top_k, "top_k")
        if label >= self.Y.shape[1]:
            return NearestInstances(np.zeros(0, np.int64), np.zeros(0, np.float32))
        return nearest_instances(label, query, self.vectors, self.Y, top_k=top_k)

    def with_more(self, embeddings: FloatArray, Y: Sparse) -> KeptInstances:
        """Further instances behind these; Y (n, n_labels) may have labels added since."""
        columns = sp.csc_array((self.Y.shape[0], Y.shape[1] - self.Y.shape[1]), dtype=np.float32)
        known = sp.hstack([self.Y, columns], format="csr")
        return KeptInstances(
            np.concatenate([self.vectors, embeddings.astype(np.float16)]),
            sp.csc_array(sp.vstack([known, sp.csr_array(Y)])),
        )

    def with_labels(self, kept: npt.NDArray[np.bool_]) -> KeptInstances:
        """The same with the labels that are marked in `kept`."""
        return KeptInstances(self.vectors, self.Y[:, np.flatnonzero(kept[: self.Y.shape[1]])])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays by name, as the store takes them."""
        return {
            "instances.vectors": self.vectors,
            "instances.of_label": np.asarray(self.Y.indices, np.int64),
            "instances.label_offsets": np.asarray(self.Y.indptr, np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self | None:
        """Restore what `arrays` gave; None if no instances were kept."""
        if "instances.vectors" not in arrays:
            return None
        vectors, rows = arrays["instances.vectors"], arrays["instances.of_label"]
        offsets = arrays["instances.label_offsets"]
        ones = np.ones(len(rows), np.float32)
        shape = (len(vectors), len(offsets) - 1)
        return cls(vectors, sp.csc_array((ones, rows, offsets), shape=shape))


@torch.no_grad()
def source_shares(
    network: PrototypeNetwork,
    text: Tensor,
    centroid: Tensor | None = None,
    free: Tensor | None = None,
    *,
    present: Tensor | None = None,
    queries: Tensor | None = None,
) -> Tensor:
    """Return how much of a similarity each source of a prototype contributes.

    The value of some sources is the similarity of the query to the prototype made of them alone,
    and zero for none. A source's share is what it adds to the others, averaged over all orders in
    which the three can be added: its Shapley value. The shares add up to the similarity of the
    query to the whole prototype. A share below zero: the source leads away from the query.

    Parameters
    ----------
    network : PrototypeNetwork
    text, centroid, free : float tensors (m, d)
        The sources of m labels, as the network takes them.
    present : bool tensor (m, 3), optional
        Which label has which source; one that is absent has no share.
    queries : float tensor (m, d), optional
        An embedding for each label. By default the label's prototype itself: shares then add up
        to 1, and say what the prototype is made of.

    Returns
    -------
    float32 tensor (m, 3)
        In the order text, centroid, free vector.
    """
    was_training = network.training
    network.eval()
    if present is None:
        present = torch.ones(len(text), len(SOURCES), dtype=torch.bool, device=text.device)
    if queries is None:
        queries = network(text, centroid, free, present)  # (m, d)
    values: dict[frozenset[int], Tensor] = {frozenset(): queries.new_zeros(len(text))}
    for some in _subsets(range(len(SOURCES))):
        chosen = torch.tensor([i in some for i in range(len(SOURCES))], device=text.device)  # (3,)
        prototypes = network(text, centroid, free, present & chosen)  # (m, d)
        values[some] = (prototypes * queries).sum(dim=1)  # (m,)
    network.train(was_training)
    return torch.stack([_shapley(values, i) for i in range(len(SOURCES))], dim=1)  # (m, 3)


def _shapley(values: dict[frozenset[int], Tensor], source: int) -> Tensor:
    """The Shapley value (m,) of one source, from the value (m,) of every set of sources."""
    n = len(SOURCES)
    others = [i for i in range(n) if i != source]
    total = torch.zeros_like(values[frozenset()])  # (m,)
    for some in [frozenset[int](), *_subsets(others)]:
        orders = factorial(len(some)) * factorial(n - len(some) - 1)
        total += orders / factorial(n) * (values[some | {source}] - values[some])  # (m,)
    return total


def _subsets(items: range | list[int]) -> list[frozenset[int]]:
    """All sets of items but the empty one."""
    sizes = range(1, len(items) + 1)
    return [frozenset(some) for size in sizes for some in itertools.combinations(items, size)]
