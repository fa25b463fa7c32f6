"""OmikujiForest: trees whose scores are averaged the way omikuji does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.interchange.levels import NEVER
from multitudes.kernels.scores import keep_best_of_leaves
from multitudes.linear import Parabel, XRLinear
from multitudes.scores.ensemble import average
from multitudes.store import State
from multitudes.types import Predictions
from multitudes.validation import checked_count

KIND = "omikuji-forest"
# Labels that all trees list at a time, over all instances of a block.
ROOM = 1 << 22


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
        X = self.known_features(X)
        if labels is None and not all(_known(tree).all() for tree in self.trees_):
            known = [tree.tree_.slot_labels[_known(tree)] for tree in self.trees_]
            labels = np.unique(np.concatenate(known))
        longest = max(_longest_list(tree, width) for tree in self.trees_)
        size = max(1, ROOM // (longest * len(self.trees_)))
        blocks = [
            self._predict_block(X[start : start + size], top_k, width, labels)
            for start in range(0, X.shape[0], size) or (0,)
        ]
        found = Predictions(
            np.vstack([block.labels for block in blocks]),
            np.vstack([block.scores for block in blocks]),
            self.n_labels_,
        )
        return found.above(threshold)

    def to_state(self) -> State:
        """Return the settings, and the trees as parts."""
        return replace(super().to_state(), kind=KIND)

    def _predict_block(
        self, X: Any, top_k: int, beam_width: int, labels: npt.ArrayLike | None
    ) -> Predictions:
        found = []
        for tree in self.trees_:
            listed = tree.predict(
                X, top_k=_longest_list(tree, beam_width), beam_width=beam_width, labels=labels
            )
            leaf = tree.tree_.leaf_of_label().astype(np.int32)
            counts = np.zeros(tree.tree_.n_leaves, np.int32)
            keep_best_of_leaves(listed.labels, leaf, beam_width, counts)
            found.append(listed)
        return average(found, top_k=top_k)


def _known(tree: XRLinear) -> npt.NDArray[np.bool_]:
    """Return which slots hold labels that the tree was trained on, the others are never reached."""
    return np.asarray(tree.levels_[-1].bias > NEVER)


def _longest_list(tree: XRLinear, beam_width: int) -> int:
    """Return how many labels the leaves of a beam can hold at most."""
    sizes = np.sort(np.bincount(tree.tree_.parents(tree.tree_.depth - 1)[_known(tree)]))
    return max(1, int(sizes[-beam_width:].sum()))
