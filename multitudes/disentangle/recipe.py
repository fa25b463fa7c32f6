"""Recipe: how one tree is disentangled, and what becomes of it when labels are added."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.disentangle.leaf_assignment import default_cluster_cap
from multitudes.disentangle.rounds import Round, random_tree, reassigned
from multitudes.disentangle.sense_learning import learn_senses
from multitudes.disentangle.senses import SenseNotes
from multitudes.disentangle.updating import leaves_of_new_labels, with_new_labels
from multitudes.errors import ConfigError
from multitudes.labels import LabelTree
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.tree_estimator import TreeEstimator
from multitudes.scikit_learn import clone
from multitudes.types import Sparse
from multitudes.validation import checked_count, checked_number

AUTO = "auto"
INITIAL = ("balanced", "random")
# Chosen on parts of the training data that were held out.
MATCH_TENTHS = 6  # of the model's beam
MATCHER_EPOCHS = 3  # of the matcher that only finds the leaves, where the solver is rough anyway


@dataclass(frozen=True)
class Recipe:
    """The settings of `Disentangled` that its trees are trained by; see there for each."""

    overlap: int
    rounds: int
    initial: str
    max_cluster_size: int | str | None
    finetune_matcher: bool
    match_width: int | None
    min_instances: int
    tolerance: float
    keep_examples: int
    random_state: int

    def __post_init__(self) -> None:
        checked_count(self.overlap, "overlap")
        checked_count(self.rounds, "rounds", at_least=0)
        checked_count(self.keep_examples, "keep_examples", at_least=0)
        checked_count(self.min_instances, "min_instances")
        checked_number(self.tolerance, "tolerance", above=0)
        if self.match_width is not None:
            checked_count(self.match_width, "match_width")
        if self.initial not in INITIAL:
            raise ConfigError(f"initial must be one of {INITIAL}, got {self.initial!r}")
        if self.max_cluster_size not in (None, AUTO):
            checked_count(self.max_cluster_size, "max_cluster_size")

    def fit_one(self, part: Any, X: Sparse, Y: Sparse) -> tuple[Any, list[Round]]:
        """Fit one tree, alternating between its clusters and its matcher."""
        model = clone(part)
        if self.initial == "random":
            model.set_params(tree=random_tree(model, Y.shape[1], self.random_state))
        if self.rounds == 0:
            return model.fit(X, Y), []
        matcher = self._matcher(model)
        tree = matcher.fit_matcher(X, Y).tree_
        rounds: list[Round] = []
        for number in range(self.rounds):
            tree, done = self._reassign(matcher, tree, X, Y)
            rounds.append(done)
            last = number == self.rounds - 1 or done.n_moved == 0
            if last:
                break
            if self.finetune_matcher:
                matcher.set_params(tree=tree).fit_matcher(X, Y)
        final = self._rough_solver(model) if tree.n_slots > tree.n_labels else model.solver
        if self.finetune_matcher:
            model.set_params(tree=tree, solver=final).fit(X, Y)
        else:
            model = matcher.set_params(solver=final).fit_ranker(X, Y, tree)
        return model.set_params(tree=part.tree, solver=part.solver), rounds

    def grown(
        self,
        tree: TreeEstimator,
        notes: SenseNotes | None,
        X: Sparse,
        Y: Sparse,
        label_features: Sparse | None,
    ) -> tuple[TreeEstimator, SenseNotes | None]:
        """Return one tree with new labels, and its notes."""
        if self.rounds == 0:
            leaves = tree.leaves_for(X, Y, label_features)
        else:
            leaves = leaves_of_new_labels(
                tree, X, Y, label_features,
                overlap=self._limits(Y[:, tree.n_labels_ :]),
                match_width=self._match_width(tree),
                max_cluster_size=self._cap(Y.shape[1], tree.tree_.n_leaves),
            )  # fmt: skip
        several = overlaps(tree) or leaves.nnz > leaves.shape[0]
        solver = self._rough_solver(tree) if several else tree.solver
        model = copy(tree).fit_new_labels(X, Y, leaves, solver=solver)
        learned = self.note_senses(model, X, Y)
        if learned is None:
            return model, None
        return model, with_new_labels(notes, learned, model.tree_.slot_labels >= tree.n_labels_)

    def solver(self, model: TreeEstimator) -> SolverConfig:
        """Return how the rankers of a fitted tree are trained."""
        return self._rough_solver(model) if overlaps(model) else model.solver

    def _matcher(self, model: Any) -> Any:
        """Return the model that finds the clusters; less exact if it is trained again anyway."""
        matcher = clone(model)
        if self.finetune_matcher:
            solver = self._rough_solver(model, times=2)
            if self.tolerance > 1:
                solver = solver.replaced(max_epochs=min(MATCHER_EPOCHS, solver.max_epochs))
            matcher.set_params(solver=solver)
        return matcher

    def _rough_solver(self, model: Any, *, times: int = 1) -> SolverConfig:
        """Return the model's solver with a larger tolerance, raised once or several times."""
        solver: SolverConfig = model.solver
        return solver.replaced(epsilon=self.tolerance**times * solver.epsilon)

    def _reassign(
        self, model: Any, tree: LabelTree, X: Sparse, Y: Sparse
    ) -> tuple[LabelTree, Round]:
        """Give each label the leaves where its instances are led."""
        if self.overlap > tree.n_leaves:
            raise ConfigError(
                f"overlap is {self.overlap}, but the tree has {tree.n_leaves} leaves: lower "
                "overlap, or max_leaf_size for more leaves"
            )
        matched = model.match(X, beam_width=self._match_width(model)).to_csr()
        cap = self._cap(tree.n_labels, tree.n_leaves)
        return reassigned(tree, matched, Y, overlap=self._limits(Y), max_cluster_size=cap)

    def _match_width(self, model: Any) -> int:
        if self.match_width is not None:
            return self.match_width
        # Twice the overlap, so that there is something to choose from.
        beam: int = model.beam_width
        width = max(tenths(MATCH_TENTHS, beam), 2 * self.overlap)
        return min(width, max(beam, self.overlap))

    def _cap(self, n_labels: int, n_leaves: int) -> int | None:
        """Return how many labels a leaf may hold; None for no limit."""
        cap = self.max_cluster_size
        return (
            default_cluster_cap(n_labels, n_leaves, self.overlap) if isinstance(cap, str) else cap
        )

    def _limits(self, Y: Sparse) -> npt.NDArray[np.int64]:
        """Return the most leaves that each label may have, int64 (n_labels,)."""
        often = np.bincount(Y.indices, minlength=Y.shape[1]) >= self.min_instances
        return np.where(often, self.overlap, 1)

    def note_senses(self, model: Any, X: Sparse, Y: Sparse) -> SenseNotes | None:
        """Return what is typical of each sense; None without overlap, when there are no senses."""
        if not isinstance(model, TreeEstimator) or not overlaps(model) or not self.keep_examples:
            return None
        return learn_senses(
            model.tree_,
            model.levels_[-1],
            X,
            Y,
            keep_examples=self.keep_examples,
            n_jobs=model.n_jobs,
        )


def overlaps(model: Any) -> bool:
    """Whether a label of a fitted tree lives in several leaves."""
    return bool(model.tree_.n_slots > model.tree_.n_labels)


def tenths(n: int, width: int) -> int:
    """Return n tenths of a width, rounded up."""
    return -(-n * width // 10)
