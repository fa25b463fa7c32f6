"""OmikujiForest: trees whose scores are averaged the way omikuji does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.interchange.levels import NEVER
from multitudes.kernels.lanes import LANES
from multitudes.kernels.search.beam_search import search_block
from multitudes.kernels.search.index import SearchArrays
from multitudes.kernels.search.leaf_lists import list_leaves
from multitudes.kernels.threads import ThreadTeam, resolve_threads
from multitudes.linear import Parabel, XRLinear
from multitudes.linear.scoring import scoring
from multitudes.linear.search_index import SearchIndex, own_numbers
from multitudes.scores.ensemble import average
from multitudes.store import State
from multitudes.types import FloatArray, LabelArray, Predictions
from multitudes.validation import checked_count, checked_label_ids

KIND = "omikuji-forest"
BLOCK = 4096  # instances that a thread predicts at a time


class OmikujiForest(Parabel):
    """A forest that ranks as omikuji does: of each leaf, only its best labels count.

    Omikuji takes no more than `beam_width` labels from each leaf that the beam has reached; a
    label that is not among them counts as 0 in that tree. Otherwise this is `Parabel`, with the
    same settings.

    Made by `import_model`. `fit` trains it anew, as `Parabel` would.

    References
    ----------
    https://github.com/tomtung/omikuji
    """

    _searches: list[LeafSearch]

    @classmethod
    def of_trees(cls, trees: Sequence[XRLinear]) -> Self:
        """Return the forest of fitted trees."""
        parts = {f"tree-{i}": tree.to_state() for i, tree in enumerate(trees)}
        return cls.from_state(State(KIND, {"n_trees": len(trees)}, parts=parts))

    def predict(
        self,
        X: Any,
        *,
        top_k: int = 5,
        beam_width: int | None = None,
        threshold: float | None = None,
        labels: npt.ArrayLike | None = None,
    ) -> Predictions:
        """Return the best labels of each instance; parameters as in `XRLinear.predict`."""
        self.check_fitted()
        top_k = min(checked_count(top_k, "top_k"), self.n_labels_)
        width = checked_count(self.beam_width if beam_width is None else beam_width, "beam_width")
        X = self._known_rows(X)
        wanted = None if labels is None else checked_label_ids(labels, self.n_labels_)
        indptr, indices = (
            X.indptr.astype(np.int64, copy=False),
            X.indices.astype(np.int32, copy=False),
        )
        masks = [search.mask(wanted) for search in self._searches]

        def block(bounds: tuple[int, int]) -> Predictions:
            found = [
                search.listed((indptr, indices, X.data), bounds, mask, beam_width=width)
                for search, mask in zip(self._searches, masks, strict=True)
            ]
            return average(found, top_k=top_k)

        n, n_jobs = X.shape[0], resolve_threads(self.n_jobs)
        size = n if n <= LANES else min(BLOCK, -(-n // n_jobs))
        bounds = [(i, min(n, i + size)) for i in range(0, n, max(size, 1))] or [(0, 0)]
        if len(bounds) == 1:
            blocks = [block(bounds[0])]
        else:
            with ThreadTeam(n_jobs) as team:
                blocks = team.map(block, bounds)
        return Predictions.joined(blocks).above(threshold)

    def to_state(self) -> State:
        """Return the settings, and the trees as parts."""
        return replace(super().to_state(), kind=KIND)

    def _set_learned(self, trees: list[XRLinear]) -> None:
        super()._set_learned(trees)
        self._searches = [LeafSearch(tree) for tree in trees]


class LeafSearch:
    """Finds the leaves of a tree that a beam reaches, and lists the best labels of each.

    Parameters
    ----------
    model : fitted XRLinear
    """

    def __init__(self, model: XRLinear) -> None:
        self.tree, self.scoring = model.tree_, scoring(model.score_function)
        self.index = SearchIndex(model.tree_, model.levels_, model.n_features_in_)

    @cached_property
    def known(self) -> LabelArray:
        """Labels that the tree was trained on; the others are never reached."""
        bias = self.index.levels[-1].bias
        return np.sort(self.tree.slot_labels[bias > NEVER])

    @cached_property
    def known_mask(self) -> npt.NDArray[np.int32]:
        """The `block_mask` of the known labels."""
        return self.index.allow(self.known)

    @cached_property
    def leaf_numbers(self) -> LabelArray:
        """The number of each leaf."""
        return own_numbers(self.tree.n_leaves)

    @cached_property
    def largest_leaf(self) -> int:
        """Labels of the leaf that has most."""
        return int(np.diff(self.tree.offsets[-1]).max())

    def mask(self, labels: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int32]:
        """Return the `block_mask` of the known labels among those wanted."""
        if labels is None:
            return self.known_mask
        return self.index.allow(np.intersect1d(labels, self.known))

    def listed(
        self,
        X: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float32]],
        bounds: tuple[int, int],
        mask: npt.NDArray[np.int32],
        *,
        beam_width: int,
    ) -> Predictions:
        """Return the best `beam_width` labels of each of as many leaves, for some rows of X."""
        start, n = bounds[0], bounds[1] - bounds[0]
        arrays = self.index.arrays._replace(block_mask=mask)
        width = min(beam_width, self.tree.n_leaves)
        leaf, leaf_score = self._leaves(X, start, n, arrays, width)
        n_kept = min(beam_width, self.largest_leaf)
        labels = np.empty((n, width, n_kept), np.int32)
        scores = np.empty((n, width, n_kept), np.float32)
        list_leaves(
            *X, start, arrays, self.scoring.kind, self.scoring.power, leaf, leaf_score,
            labels, scores,
        )  # fmt: skip
        shape = (n, width * n_kept)
        finished = self.scoring.finish(scores).reshape(shape)
        return Predictions(labels.reshape(shape), finished, self.tree.n_labels)

    def _leaves(
        self, X: Any, start: int, n: int, arrays: SearchArrays, width: int
    ) -> tuple[LabelArray, FloatArray]:
        """Return the leaves that each instance reaches, and the logarithms of their scores."""
        leaf, score = np.zeros((n, width), np.int32), np.zeros((n, width), np.float32)
        if self.tree.depth > 1:
            above = arrays._replace(
                level_start=arrays.level_start[:-1], slot_labels=self.leaf_numbers
            )
            kind, power = self.scoring.kind, self.scoring.power
            search_block(*X, start, above, width, kind, power, leaf, score)
        return leaf, score
