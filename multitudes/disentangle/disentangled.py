"""Disentangled: a tree model in which an ambiguous label may live in several leaves."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone

from multitudes.disentangle.leaf_assignment import default_cluster_cap
from multitudes.disentangle.rounds import Round, random_tree, reassigned
from multitudes.disentangle.sense_learning import learn_senses
from multitudes.disentangle.senses import Sense, SenseNotes, senses_of
from multitudes.disentangle.updating import (
    leaves_of_new_labels,
    with_further_uses,
    with_new_labels,
    without_labels,
)
from multitudes.errors import ConfigError
from multitudes.estimator import Estimator
from multitudes.labels import LabelTree
from multitudes.linear.explanation import Explanation
from multitudes.linear.scoring import mean_of_logs
from multitudes.linear.search_index import checked_merge
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.tree_estimator import TreeEstimator
from multitudes.linear.update import checked_new_labels, checked_update
from multitudes.scores.ensemble import CANDIDATES, average
from multitudes.store import State, build, state_of
from multitudes.types import PartitionModel, Predictions, Sparse
from multitudes.validation import (
    checked_count,
    checked_features,
    checked_labels,
    checked_number,
    checked_removal,
)

AUTO = "auto"
INITIAL = ("balanced", "random")
# Tenths of the model's beam, where labels overlap and are easier to reach: chosen on parts of the
# training data that were held out.
MATCH_TENTHS, PREDICT_TENTHS = 6, 8


class Disentangled(Estimator):
    """Finds, for each label, the leaves where a tree's own matcher leads its instances.

    Algorithm 1 of the paper: train the matcher on balanced clusters, see which leaves it leads the
    training instances to, give each label the `overlap` leaves that hold most of its instances
    (Eq. 10), and train matcher and rankers on the new clusters. Copies of a label are (label, leaf)
    pairs of the tree, each with a ranker of its own; no data is copied.

    Parameters
    ----------
    model : XRLinear, Parabel, or another `PartitionModel`
        What is disentangled; it stays unfitted.
    overlap : int
        Leaves of a label at most.
    rounds : int
        How often clusters and matcher take turns; it ends earlier when no label moves. 0 is the
        model itself.
    initial : str
        'balanced': the model's own tree. 'random': labels thrown together at random, for study.
    max_cluster_size : int, None or 'auto'
        Labels per leaf at most: None for no limit, 'auto' for a small multiple of the mean. Without
        a limit popular leaves swallow thousands of rare labels.
    finetune_matcher : bool
        Train the levels above the leaves again on the new clusters; False is the paper's ablation.
    merge : str
        How the scores of the copies reached become one: 'mean', 'max' or 'sum'.
    predict_width : int, optional
        Clusters kept per level when predicting: by default eight tenths of the model's
        `beam_width`, rounded up, where labels overlap. Leaves then hold more labels, and a label in
        several of them is easier to reach.
    match_width : int, optional
        Leaves of an instance that count when labels are assigned: by default six tenths of the
        model's `beam_width`, rounded up, and more where `overlap` asks for it; the paper takes all
        of it. With fewer, the leaves of a label are told apart more clearly.
    min_instances : int
        Labels with fewer instances keep a single leaf: what was seen once has one sense. 1 is the
        paper's method.
    tolerance : float
        Of the solver, in units of the model's own `epsilon`, where a label has several rankers:
        their mean is more exact than each of them. 1 is the paper's method.
    keep_examples : int
        Typical instances to note for each sense, with its words and its nearest labels, which
        `senses` shows; 0 notes nothing.
    random_state : int
        For `initial='random'`.

    Attributes
    ----------
    models_ : list of fitted models, one per tree
    history_ : list of lists of Round, one list per tree
    notes_ : list of SenseNotes or None, one per tree
        None where no label has a second leaf, or `keep_examples` is 0.
    n_labels_, n_features_in_, feature_names_in_
        As of `XRLinear`.

    References
    ----------
    Liu, Chang, Yu, Hsieh and Dhillon, Label Disentanglement in Partition-based Extreme Multilabel
    Classification, NeurIPS 2021.
    """

    fitted_attribute = "models_"
    restricts_labels: ClassVar[bool] = True

    def __init__(
        self,
        model: Any,
        *,
        overlap: int = 2,
        rounds: int = 1,
        initial: str = "balanced",
        max_cluster_size: int | str | None = AUTO,
        finetune_matcher: bool = True,
        merge: str = "mean",
        predict_width: int | None = None,
        match_width: int | None = None,
        min_instances: int = 2,
        tolerance: float = 4.0,
        keep_examples: int = 3,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.overlap = overlap
        self.rounds = rounds
        self.initial = initial
        self.max_cluster_size = max_cluster_size
        self.finetune_matcher = finetune_matcher
        self.merge = merge
        self.predict_width = predict_width
        self.match_width = match_width
        self.min_instances = min_instances
        self.tolerance = tolerance
        self.keep_examples = keep_examples
        self.random_state = random_state

    def fit(self, X: Any, y: Sparse) -> Self:
        """Train, reassign, train again; parameters as in `XRLinear.fit`."""
        self._check_settings()
        given, X = X, checked_features(X)
        Y = checked_labels(y, n_instances=X.shape[0])
        models, history = [], []
        for part in self.model.partitions():
            model, rounds = self._fit_one(part, X, Y)
            models.append(model)
            history.append(rounds)
        self._set_learned(models, history, [self._note_senses(model, X, Y) for model in models])
        self.note_feature_names(given)
        return self

    def predict(
        self,
        X: Any,
        *,
        top_k: int = 5,
        beam_width: int | None = None,
        threshold: float | None = None,
        labels: npt.ArrayLike | None = None,
    ) -> Predictions:
        """Return the best labels of each instance; parameters as in `XRLinear.predict`.

        `beam_width` replaces the setting `predict_width`.
        """
        self.check_fitted()
        X = self.known_features(X)
        top_k = min(checked_count(top_k, "top_k"), self.n_labels_)
        merge = checked_merge(self.merge)
        alone = len(self.models_) == 1
        found = [
            model.predict(
                X,
                top_k=top_k if alone else max(top_k, CANDIDATES),
                beam_width=self._predict_width(model) if beam_width is None else beam_width,
                labels=labels,
                merge=merge,
            )
            for model in self.models_
        ]
        return (found[0] if alone else average(found, top_k=top_k)).above(threshold)

    def score_pairs(self, X: Any, pairs: Sparse) -> sp.csr_array[Any]:
        """Return the logarithms of the scores of given pairs; see `XRLinear.score_pairs`."""
        self.check_fitted()
        X = self.known_features(X)
        return mean_of_logs([model.score_pairs(X, pairs) for model in self.models_])

    def explain(self, x: Any, label: int) -> Explanation:
        """Explain a label's score, tree by tree, by the path to its best copy."""
        self.check_fitted()
        x = self.known_features(x, name="x")
        return Explanation.of_trees([model.explain(x, label) for model in self.models_])

    def senses(self, label: int) -> list[Sense]:
        """Return the senses of a label, one for each leaf: words, neighbors and examples."""
        self.check_fitted()
        return senses_of(self, label)

    def partial_fit(self, X: Any, y: Sparse) -> Self:
        """Learn from further instances of known labels; see `XRLinear.partial_fit`.

        Labels stay in their leaves, and every copy of a label learns from all its new instances,
        as in `fit`: copies differ in what they are told apart from.
        """
        if not hasattr(self, "models_"):
            return self.fit(X, y)
        trees = self._updatable("partial_fit")
        X, Y = checked_update(self, X, y)
        models = [copy(tree).fit_further(X, Y, solver=self._solver(tree)) for tree in trees]
        pairs = zip(self.notes_, models, strict=True)
        notes = [with_further_uses(note, model, X, Y) for note, model in pairs]
        self._set_learned(models, self.history_, notes)
        return self

    def add_labels(self, X: Any, y: Sparse, *, label_features: Any = None) -> Self:
        """Add labels without retraining the others; parameters as in `XRLinear.add_labels`.

        A new label goes to the leaves where the matcher leads most of its instances, by the rule
        of `fit`: `overlap` of them at most, as far as `max_cluster_size` leaves room.
        """
        self.check_fitted()
        trees = self._updatable("add_labels")
        X, Y, label_features = checked_new_labels(self, X, y, label_features)
        grown = [
            self._grown(tree, note, X, Y, label_features)
            for tree, note in zip(trees, self.notes_, strict=True)
        ]
        models, notes = [model for model, _ in grown], [note for _, note in grown]
        self._set_learned(models, self.history_, notes)
        return self

    def remove_labels(self, labels: npt.ArrayLike) -> Self:
        """Drop labels with all their copies; the others keep their order and are renumbered."""
        self.check_fitted()
        trees = self._updatable("remove_labels")
        dropped = checked_removal(labels, self.n_labels_)
        models = [copy(tree).remove_labels(dropped) for tree in trees]
        notes = [
            without_labels(note, old.tree_, dropped) if note and overlaps(model) else None
            for note, old, model in zip(self.notes_, trees, models, strict=True)
        ]
        self._set_learned(models, self.history_, notes)
        return self

    def to_state(self) -> State:
        """Return the settings, the history, and the fitted trees as parts."""
        self.check_fitted()
        config = {k: v for k, v in self.get_params(deep=False).items() if k != "model"}
        parts = {f"tree-{i}": state_of(model) for i, model in enumerate(self.models_)}
        history = [[list(round_) for round_ in rounds] for rounds in self.history_]
        arrays: dict[str, npt.NDArray[Any]] = {}
        for i, notes in enumerate(self.notes_):
            arrays |= {} if notes is None else notes.to_arrays(f"senses_{i}_")
        return State("disentangled", {**config, "history": history}, arrays, parts=parts)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted model again; `model` is then the first of its trees."""
        config = dict(state.config)
        history = [[Round(*round_) for round_ in rounds] for rounds in config.pop("history")]
        models: list[Any] = [build(state.parts[f"tree-{i}"]) for i in range(len(state.parts))]
        disentangled = cls(models[0], **config)
        notes = [SenseNotes.from_arrays(state.arrays, f"senses_{i}_") for i in range(len(models))]
        disentangled._set_learned(models, history, notes)
        return disentangled

    def _fit_one(self, part: Any, X: Sparse, Y: Sparse) -> tuple[Any, list[Round]]:
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
            matcher.set_params(tree=tree).fit_matcher(X, Y)
        final = self._rough_solver(model) if tree.n_slots > tree.n_labels else model.solver
        if self.finetune_matcher:
            model.set_params(tree=tree, solver=final).fit(X, Y)
        else:
            model = matcher.set_params(solver=final).fit_ranker(X, Y, tree)
        return model.set_params(tree=part.tree, solver=part.solver), rounds

    def _grown(
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
        learned = self._note_senses(model, X, Y)
        if learned is None:
            return model, None
        return model, with_new_labels(notes, learned, model.tree_.slot_labels >= tree.n_labels_)

    def _updatable(self, method: str) -> list[TreeEstimator]:
        """Return the fitted trees, or say that they cannot be changed."""
        for model in self.models_:
            if not isinstance(model, TreeEstimator):
                raise ConfigError(
                    f"{method} needs trees of linear rankers, and the model inside this "
                    f"Disentangled is a {type(model).__name__}: fit again on all data"
                )
        return self.models_

    def _solver(self, model: TreeEstimator) -> SolverConfig:
        """Return how the rankers of a fitted tree are trained."""
        return self._rough_solver(model) if overlaps(model) else model.solver

    def _matcher(self, model: Any) -> Any:
        """Return the model that finds the clusters; less exact if it is trained again anyway."""
        matcher = clone(model)
        if self.finetune_matcher:
            matcher.set_params(solver=self._rough_solver(model))
        return matcher

    def _rough_solver(self, model: Any) -> SolverConfig:
        """Return the model's solver with a larger tolerance."""
        solver: SolverConfig = model.solver
        return solver.replaced(epsilon=self.tolerance * solver.epsilon)

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

    def _predict_width(self, model: Any) -> int:
        if self.predict_width is not None:
            return self.predict_width
        width: int = model.beam_width
        return tenths(PREDICT_TENTHS, width) if overlaps(model) else width

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

    def _note_senses(self, model: Any, X: Sparse, Y: Sparse) -> SenseNotes | None:
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

    def _set_learned(
        self, models: list[Any], history: list[list[Round]], notes: list[SenseNotes | None]
    ) -> None:
        self.models_, self.history_, self.notes_ = models, history, notes
        self.n_labels_, self.n_features_in_ = models[0].n_labels_, models[0].n_features_in_

    def _check_settings(self) -> None:
        checked_count(self.overlap, "overlap")
        checked_count(self.rounds, "rounds", at_least=0)
        checked_count(self.keep_examples, "keep_examples", at_least=0)
        checked_count(self.min_instances, "min_instances")
        checked_number(self.tolerance, "tolerance", above=0)
        for name in ("predict_width", "match_width"):
            if getattr(self, name) is not None:
                checked_count(getattr(self, name), name)
        checked_merge(self.merge)
        if self.initial not in INITIAL:
            raise ConfigError(f"initial must be one of {INITIAL}, got {self.initial!r}")
        if self.max_cluster_size not in (None, AUTO):
            checked_count(self.max_cluster_size, "max_cluster_size")
        if not isinstance(self.model, PartitionModel):
            raise ConfigError(
                f"{type(self.model).__name__} has no clusters to disentangle: give an XRLinear or "
                "a Parabel"
            )


def overlaps(model: Any) -> bool:
    """Whether a label of a fitted tree lives in several leaves."""
    return bool(model.tree_.n_slots > model.tree_.n_labels)


def tenths(n: int, width: int) -> int:
    """Return n tenths of a width, rounded up."""
    return -(-n * width // 10)
