"""Disentangled: a tree model in which an ambiguous label may live in several leaves."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy.typing as npt
import scipy.sparse as sp

from multitudes.config import Search, among
from multitudes.disentangle.recipe import AUTO, Recipe, overlaps, tenths
from multitudes.disentangle.rounds import Round, check_history
from multitudes.disentangle.senses import Sense, SenseNotes, senses_of
from multitudes.disentangle.updating import with_further_uses, without_labels
from multitudes.errors import ConfigError
from multitudes.estimator import Estimator
from multitudes.kernels.threads import ThreadTeam
from multitudes.linear.explanation import Explanation
from multitudes.linear.scoring import mean_of_logs
from multitudes.linear.search_index import checked_merge
from multitudes.linear.tree_estimator import TreeEstimator
from multitudes.linear.update import checked_new_labels, checked_update
from multitudes.scores.ensemble import CANDIDATES, average
from multitudes.store import State, build, checks, state_of
from multitudes.types import PartitionModel, Predictions, Sparse
from multitudes.validation import checked_count, checked_features, checked_labels, checked_removal

# Of the model's beam, where labels overlap and are easier to reach: chosen on parts of the training
# data that were held out.
PREDICT_TENTHS = 7


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
        Clusters kept per level when predicting: by default seven tenths of the model's
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
        their mean is more exact than each of them. Its square is that of the matcher that only
        finds the leaves and is trained again; above 1, that one makes three passes over its
        instances at most. 1 is the paper's method.
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
    search_space: ClassVar[dict[str, Search]] = {"overlap": among(1, 2, 3)}
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
        tolerance: float = 2.0,
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
        recipe = self._recipe()
        given, X = X, checked_features(X)
        Y = checked_labels(y, n_instances=X.shape[0])
        models, history = [], []
        for part in self.model.partitions():
            model, rounds = recipe.fit_one(part, X, Y)
            models.append(model)
            history.append(rounds)
        self._set_learned(models, history, [recipe.note_senses(model, X, Y) for model in models])
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
        with ThreadTeam(getattr(self.model, "n_jobs", 1)) as team:
            X = self._known_rows(X, team=team)
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
        recipe = self._recipe()
        models = [copy(tree).fit_further(X, Y, solver=recipe.solver(tree)) for tree in trees]
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
        recipe = self._recipe()
        grown = [
            recipe.grown(tree, note, X, Y, label_features)
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
    def check_state(cls, state: State) -> None:
        """Check settings and history; what was noted of senses is held against the trees later."""
        trees = checks.numbered_parts(state, "tree")
        noted = [f"senses_{i}_{name}" for i in range(len(trees)) for name in SenseNotes.names()]
        checks.names(state, arrays=noted, parts=state.parts, optional=noted)
        checks.parameters(state, cls, without=("model",), beside=("history",))
        check_history(state.config["history"], len(trees))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted model again; `model` is then the first of its trees."""
        config = dict(state.config)
        history = [[Round(*round_) for round_ in rounds] for rounds in config.pop("history")]
        models: list[Any] = [build(state.parts[f"tree-{i}"]) for i in range(len(state.parts))]
        disentangled = cls(models[0], **config)
        disentangled._recipe()
        for model in models:
            checks.same(model.n_labels_, models[0].n_labels_, "the number of labels")
            checks.same(model.n_features_in_, models[0].n_features_in_, "the number of features")
        notes = [
            SenseNotes.from_arrays(state.arrays, f"senses_{i}_", model)
            for i, model in enumerate(models)
        ]
        disentangled._set_learned(models, history, notes)
        return disentangled

    def _updatable(self, method: str) -> list[TreeEstimator]:
        """Return the fitted trees, or say that they cannot be changed."""
        for model in self.models_:
            if not isinstance(model, TreeEstimator):
                raise ConfigError(
                    f"{method} needs trees of linear rankers, and the model inside this "
                    f"Disentangled is a {type(model).__name__}: fit again on all data"
                )
        return self.models_

    def _predict_width(self, model: Any) -> int:
        if self.predict_width is not None:
            return self.predict_width
        width: int = model.beam_width
        return tenths(PREDICT_TENTHS, width) if overlaps(model) else width

    def _set_learned(
        self, models: list[Any], history: list[list[Round]], notes: list[SenseNotes | None]
    ) -> None:
        self.models_, self.history_, self.notes_ = models, history, notes
        self.n_labels_, self.n_features_in_ = models[0].n_labels_, models[0].n_features_in_

    def _recipe(self) -> Recipe:
        """Check all settings, and return those that trees are trained by."""
        if self.predict_width is not None:
            checked_count(self.predict_width, "predict_width")
        checked_merge(self.merge)
        if not isinstance(self.model, PartitionModel):
            raise ConfigError(
                f"{type(self.model).__name__} has no clusters to disentangle: give an XRLinear or "
                "a Parabel"
            )
        return Recipe(**{field.name: getattr(self, field.name) for field in fields(Recipe)})
