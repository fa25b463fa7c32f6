"""Eagle: learn any model from labels that were given to groups of instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from multitudes import progress
from multitudes.errors import ConfigError, DataError, StoreError
from multitudes.estimator import Estimator
from multitudes.groups.candidates import Candidates, checked_candidates
from multitudes.groups.embeddings import checked_instances, embedder
from multitudes.groups.imputation import Imputation, Rule, assign, spread
from multitudes.groups.rounds import (
    NARROW,
    Round,
    Rounds,
    checked_texts_or_rows,
    group_folds,
    schedule,
    take,
)
from multitudes.scikit_learn import clone, get_tags
from multitudes.store import State, build, checks, state_of
from multitudes.types import Model, Predictions, Sparse, TakesLabelTexts
from multitudes.validation import checked_count, checked_features, checked_sparse

# Rounds end when at most this part of the labels has moved.
SETTLED = 0.001


class Eagle(Estimator):
    """Finds out which instance of a group has which of the group's labels, and learns from that.

    Labels are imputed by `impute`, whose defaults are the paper's, and a clone of the model is
    trained on them. The options are ours; `contrast` and `use_counts` cost nothing and make most of
    the difference.

    Parameters
    ----------
    model : XRLinear, Parabel, Disentangled or another `Model`
        What learns; it stays unfitted.
    n_steps : int or 'auto'
        Steps of the label embeddings; 0 is EAGLE-0. 'auto' takes them where instances of a group
        are alike.
    step : float
        Length of a step.
    contrast : bool
        Learn from the groups without a label too.
    use_counts : bool
        A label that a group lists c times goes to c instances, otherwise to one.
    margin : float
        Further instances get a label if they score less than this below the last one chosen:
        cosines at first, logarithms of the model's scores in rounds.
    rounds : int or 'narrow'
        How often labels are imputed again, by the scores of models that did not see the instance;
        it ends earlier when hardly a label moves. 'narrow': five rounds that begin with all members
        of a group having all its labels, and narrow down who has which; for large groups whose
        labels are sets.
    folds : int
        Parts the groups are dealt into for that; a round trains as many models, each on all parts
        but one.
    random_state : int
        Of the folds.
    n_jobs : int, optional
        All cores by default; the model has a setting of its own.

    Attributes
    ----------
    model_ : fitted model
    imputation_ : Imputation
        The labels it was trained on. It is not stored with the model.
    history_ : list of Round
        What each round did.

    References
    ----------
    Shen, Yu, Sanghavi and Dhillon, Extreme Multi-label Classification from Aggregated Labels, ICML
    2020.
    """

    fitted_attribute = "model_"

    def __init__(
        self,
        model: Any,
        *,
        n_steps: int | str = 20,
        step: float = 0.1,
        contrast: bool = False,
        use_counts: bool = False,
        margin: float = 0.0,
        rounds: int | str = 0,
        folds: int = 2,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.n_steps = n_steps
        self.step = step
        self.contrast = contrast
        self.use_counts = use_counts
        self.margin = margin
        self.rounds = rounds
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        groups: Sparse,
        group_labels: Sparse,
        *,
        features: Any = None,
        label_texts: Any = None,
    ) -> Self:
        """Impute the labels of instances, and train the model on them.

        Instances in no group are left out: nothing is known of their labels.

        Parameters
        ----------
        X : CSR, array (n_instances, n_features), or a sequence of texts
            What the model learns from.
        groups : CSR (n_instances, n_groups)
            1 where an instance is in a group; it may be in several, or in none.
        group_labels : CSR (n_groups, n_labels)
            How often a group lists a label; ones where only the set is known.
        features : CSR or array (n_instances, any), optional
            What labels are imputed by: X itself by default. Required if X is texts.
        label_texts : sequence of n_labels texts, optional
            For a model that reads the texts of labels too, such as `Prime`.
        """
        self._check_settings()
        arguments = self._arguments(label_texts)
        vectors = self._vectors(X, features)
        groups = checked_sparse(groups, name="groups", axes="(n_instances, n_groups)")
        group_labels = checked_sparse(
            group_labels, name="group_labels", axes="(n_groups, n_labels)"
        )
        candidates = checked_candidates(groups, group_labels, n_instances=vectors.shape[0])
        checked_texts_or_rows(X, vectors.shape[0])
        if sp.issparse(X):  # not all sparse forms have rows to take
            X = checked_features(X)
        imputation, history = self._impute(X, vectors, groups, group_labels, candidates, arguments)
        if imputation.Y.nnz == 0:
            raise DataError(
                "no instance was given a label, so there is nothing to learn from: "
                f"{candidates.counts}"
            )
        grouped = np.flatnonzero(group_folds(candidates, 1, random_state=0) == 0)
        model = clone(self.model).fit(take(X, grouped), imputation.Y[grouped], **arguments)
        self._set_learned(model, history)
        self.imputation_ = imputation
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        """Return the best labels of each instance; `model_.predict` has further options."""
        self.check_fitted()
        found: Predictions = self.model_.predict(X, top_k=top_k)
        return found

    def to_state(self) -> State:
        """Return settings, history, and the fitted model as a part; no imputed labels."""
        self.check_fitted()
        left_out = ("model", "n_jobs")
        config = {k: v for k, v in self.get_params(deep=False).items() if k not in left_out}
        history = [list(round_) for round_ in self.history_]
        return State(
            "eagle", {**config, "history": history}, parts={"model": state_of(self.model_)}
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check settings and history."""
        checks.names(state, parts=("model",))
        checks.parameters(state, cls, without=("model", "n_jobs"), beside=("history",))
        if not isinstance(state.config["history"], list):
            raise StoreError("its history must be a list of rounds")
        for round_ in state.config["history"]:
            checks.numbers(round_, "history", n=len(Round._fields))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted model again; `model` is then the fitted one."""
        config = dict(state.config)
        history = [Round(*round_) for round_ in config.pop("history")]
        model: Any = build(state.parts["model"])
        eagle = cls(model, **config)
        eagle._check_settings()
        eagle._set_learned(model, history)
        return eagle

    def __sklearn_tags__(self) -> Any:
        """Return the tags, with the input of the wrapped model."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.model).input_tags
        return tags

    def _arguments(self, label_texts: Any) -> dict[str, Any]:
        """Return what the model's ``fit`` takes beside instances and labels."""
        if label_texts is None:
            return {}
        if not isinstance(self.model, TakesLabelTexts):
            raise ConfigError(
                f"{type(self.model).__name__} does not read the texts of labels: leave label_texts "
                "out"
            )
        return {"label_texts": label_texts}

    def _impute(
        self,
        X: Any,
        vectors: Any,
        groups: Sparse,
        group_labels: Sparse,
        candidates: Candidates,
        arguments: Mapping[str, Any],
    ) -> tuple[Imputation, list[Round]]:
        """Impute labels by embeddings, and then by the model, round by round."""
        rule = Rule(self.margin, self.use_counts)
        learner = embedder(
            vectors, groups, candidates,
            n_steps=self.n_steps, step=self.step, contrast=self.contrast,
        )  # fmt: skip

        def cosines(block: Any) -> Any:
            return learner.cosines(candidates, block)

        imputation = assign(candidates, cosines, rule, n_jobs=self.n_jobs)
        history: list[Round] = []
        steps = schedule(self.rounds, candidates, self.model)
        if not steps:
            return imputation, history
        pairs = spread(groups, group_labels)
        rounds = Rounds(candidates, cosines, rule, pairs, arguments)
        narrows = any(step.power > 0 for step in steps)
        before = pairs if narrows else imputation.Y
        with progress.track("imputing with the model", len(steps), "rounds") as task:
            for number, step in enumerate(steps):
                folds = group_folds(candidates, self.folds, random_state=self.random_state + number)
                imputation = rounds.impute(self.model, X, before, folds, step, n_jobs=self.n_jobs)
                kept = int(imputation.Y.multiply(before).nnz)
                history.append(Round(imputation.Y.nnz - kept, imputation.Y.nnz))
                task.advance()
                if not narrows and history[-1].n_moved <= SETTLED * history[-1].n_labels:
                    break
                before = imputation.Y
        return imputation, history

    def _vectors(self, X: Any, features: Any) -> Any:
        """Return the vectors by which labels are imputed."""
        if features is not None:
            return checked_instances(features)
        is_matrix = sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")
        if not is_matrix:
            raise DataError(
                f"labels are imputed by feature vectors, and X is {type(X).__name__}: pass them as "
                "features=, e.g. TfidfFeatures().fit_transform(texts)"
            )
        return checked_instances(X)

    def _check_settings(self) -> None:
        if self.rounds != NARROW:
            checked_count(self.rounds, f"rounds (a number or {NARROW!r})", at_least=0)
        checked_count(self.folds, "folds", at_least=2)
        checked_count(self.random_state, "random_state", at_least=0)
        if not isinstance(self.model, Model):
            raise ConfigError(
                f"model must have fit and predict, got {type(self.model).__name__}: give an "
                "XRLinear, a Parabel, ..."
            )

    def _set_learned(self, model: Any, history: list[Round]) -> None:
        self.model_, self.history_ = model, history
        for name in ("n_labels_", "n_features_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
