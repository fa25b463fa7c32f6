"""Ensemble: several models as one, whose ranked lists are fused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, DataError
from multitudes.estimator import Estimator
from multitudes.fusion import ensemble_state, updating
from multitudes.fusion.choosing import (
    AUTO,
    FusionReport,
    HeldOut,
    made_fusion,
    out_of_fold,
)
from multitudes.fusion.explanation import FusedExplanation, member_says
from multitudes.fusion.fusion import Fusion
from multitudes.fusion.members import (
    Learning,
    Member,
    adopted,
    given_members,
)
from multitudes.fusion.rank import RankFusion
from multitudes.fusion.training import (
    Fitting,
    HeldOutConfig,
    checked_learning,
    checked_text_list,
    counts_of,
    known_counts,
    lists_of,
    n_rows,
)
from multitudes.store import State
from multitudes.types import FloatArray, IntArray, Predictions
from multitudes.validation import checked_count, checked_label, checked_labels

CANDIDATES = 50


class Ensemble(Estimator):
    """Several models as one: each lists its best labels, and the lists are fused.

    Members that are not fitted are trained on a part of the data, the fusion is learned on the
    rest, and then they are trained on everything. Members that are fitted are used as they are:
    `fit` then only learns how to fuse them, from data that they have not seen.

    Parameters
    ----------
    members : list of models, pairs (features, model), or taggers
        Fitted or not, and named if given as (name, member) or in a mapping. A model over X that
        comes without features reads X; where other members read texts, TF-IDF.
    fusion : str or Fusion
        'rank': weighted reciprocal ranks. 'calibrated': a weighted mean of log-odds. 'learned': a
        ranker over candidates. 'auto': the best of these on what was held out.
    candidates : int
        Labels of each member that are fused, at most.
    held_out : HeldOutConfig
        How much is held out to learn the fusion from.
    random_state : int
        For what is held out.
    n_jobs : int, optional
        Threads of members and of fusion; defaults to all cores.

    Attributes
    ----------
    members_ : list of Member
    fusion_ : Fusion
    report_ : FusionReport
        What each member and each way of fusion is worth on held-out instances.
    label_counts_ : float32 array (n_labels,)
        Uses of each label in the data it was fitted on.
    takes_texts_ : bool
        Whether it was fitted on texts, not on X.
    n_labels_ : int
    n_features_in_ : int
        Of an ensemble over X.

    Examples
    --------
    >>> from multitudes.linear import Parabel, XRLinear
    >>> ensemble = Ensemble([XRLinear(), Parabel()]).fit(X, Y)  # doctest: +SKIP
    >>> ensemble.predict(X_test, top_k=5)  # doctest: +SKIP
    """

    fitted_attribute = "n_labels_"
    kind: ClassVar[str] = "ensemble"

    def __init__(
        self,
        members: Any,
        *,
        fusion: str | Fusion = AUTO,
        candidates: int = CANDIDATES,
        held_out: HeldOutConfig = HeldOutConfig(),
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.members = members
        self.fusion = fusion
        self.candidates = candidates
        self.held_out = held_out
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def reads_texts(self) -> bool:
        """Whether it reads texts, because a member does."""
        if hasattr(self, "takes_texts_"):
            return bool(self.takes_texts_)
        return any(one.reads_texts for one in given_members(self.members))

    @property
    def needs_label_texts(self) -> bool:
        """Whether a member cannot do without the texts of labels."""
        given = given_members(self.members)
        return any(
            bool(getattr(one.model, "needs_label_texts", False)) and not one.is_fitted
            for one in given
        )

    @property
    def instances_(self) -> Any:
        """What a member has kept of its training instances; None if none has."""
        kept = (getattr(one.model, "instances_", None) for one in getattr(self, "members_", ()))
        return next((one for one in kept if one is not None), None)

    def label_names_of_members(self) -> list[str]:
        """Return the names of all labels that fitted taggers among the members know."""
        given = given_members(self.members)
        taggers = [one.model for one in given if one.is_tagger and one.is_fitted]
        return list(dict.fromkeys(name for tagger in taggers for name in tagger.classes_))

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        label_texts: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        label_counts: npt.ArrayLike | None = None,
    ) -> Self:
        """Train the members that are not fitted, and learn how to fuse them.

        Parameters
        ----------
        X : sequence of str, or matrix (n_instances, n_features)
            Texts if any member reads texts.
        y : sparse matrix, array or list of lists (n_instances, n_labels)
        label_texts : sequence of str, optional
            Names of the labels: for members that read them, and for learned fusion.
        label_names : sequence of str, optional
            What taggers among the members call the labels; they need not all know all of them.
        label_counts : array (n_labels,), optional
            If all members are fitted: how many instances had each label when they were trained,
            so that rare and frequent labels can be fused differently.
        """
        given = given_members(self.members)
        checked_count(self.candidates, "candidates")
        made_fusion("rank" if self.fusion == AUTO else self.fusion)  # refuses others at once
        is_texts = any(one.reads_texts for one in given)
        data = checked_learning(X, y, label_texts, label_names, is_texts=is_texts)
        counts = known_counts(given, data, label_counts)
        fitting = Fitting(
            self.fusion, self.candidates, self.held_out, self.random_state, self.n_jobs
        )
        members, fusion, report = fitting.learned(given, data, counts)
        self.members_, self.report_, self.label_counts_ = members, report, counts
        self.fusion_ = fusion.resized(np.arange(data.Y.shape[1]), counts)
        self.takes_texts_ = is_texts
        self._note_inputs(X, data)
        self.n_labels_ = int(data.Y.shape[1])
        return self

    def join(
        self,
        n_labels: int,
        *,
        label_names: Sequence[str] | None = None,
        weights: Sequence[float] | None = None,
    ) -> Self:
        """Put fitted members together by rank fusion, without anything to learn from.

        Parameters
        ----------
        n_labels : int
        label_names : sequence of str, optional
            See `fit`.
        weights : sequence of float, optional
            How much each member counts; defaults to the same for all.
        """
        given = given_members(self.members)
        waiting = [one.name for one in given if not one.is_fitted]
        if waiting:
            raise ConfigError(f"the member {waiting[0]!r} has not been fitted: call fit with data")
        members = [adopted(one, label_names, n_labels) for one in given]
        knows = np.stack([member.knows(n_labels) for member in members], axis=1)
        fusion = RankFusion(weights=weights)
        self.fusion_ = fusion.untrained(len(given), n_labels, knows=knows)
        self.members_, self.report_ = members, FusionReport("rank")
        self.takes_texts_ = any(one.reads_texts for one in given)
        self.label_counts_ = np.zeros(n_labels, np.float32)
        self.n_labels_ = n_labels
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        """Return the best labels of each instance.

        Parameters
        ----------
        X : what `fit` takes
        top_k : int
            Labels per instance, at most.
        """
        self.check_fitted()
        top_k = min(checked_count(top_k, "top_k"), self.n_labels_)
        inputs = self._known_inputs(X)
        texts = inputs if self.reads_texts else None
        lists = lists_of(
            self.members_, inputs, top_k=max(top_k, self.candidates), n_labels=self.n_labels_
        )
        return self.fusion_._fused(lists, texts, top_k=top_k, n_jobs=self.n_jobs)

    def out_of_fold(
        self, X: Any, y: Any, *, top_k: int = 5, label_texts: Sequence[str] | None = None
    ) -> Predictions:
        """Return predictions for what the fusion was learned on, as if it had not seen them.

        Each half of the instances is fused by what is learned on the other: to calibrate on the
        same data. Members are as they are.

        Parameters
        ----------
        X, y, label_texts : what `fit` was given, if all members were fitted
        top_k : int
        """
        self.check_fitted()
        inputs = self._known_inputs(X)
        Y = checked_labels(y, n_instances=n_rows(inputs), n_labels=self.n_labels_)
        top_k = checked_count(top_k, "top_k")
        lists = lists_of(
            self.members_, inputs, top_k=max(top_k, self.candidates), n_labels=self.n_labels_
        )
        texts = inputs if self.reads_texts else None
        held_out = HeldOut(lists, Y, self.label_counts_, texts, label_texts)
        return out_of_fold(self.fusion_, held_out, top_k=top_k, random_state=self.random_state)

    def explain(self, x: Any, label: int) -> FusedExplanation:
        """Say which member said what about a label, and why.

        Parameters
        ----------
        x : str, or one row of X
        label : int
        """
        self.check_fitted()
        label = checked_label(label, self.n_labels_)
        inputs = [x] if self.reads_texts else self.known_features(x, name="x")
        lists = lists_of(self.members_, inputs, top_k=self.candidates, n_labels=self.n_labels_)
        texts = inputs if self.reads_texts else None
        fused = self.fusion_._fused(lists, texts, top_k=self.n_labels_, n_jobs=1)
        at = np.flatnonzero(fused.labels[0] == label)
        shares = self.fusion_.shares(lists.members, label, texts=texts)
        says = [
            member_says(member, inputs, label, one, share)
            for member, one, share in zip(self.members_, lists.members, shares, strict=True)
        ]
        score = float(fused.scores[0, at[0]]) if len(at) else 0.0
        name = self.fusion_.kind.removesuffix("-fusion")
        return FusedExplanation(label, score, name, tuple(says))

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Have the members learn from further instances of known labels; a first call is `fit`.

        Members that cannot are left as they are, with a warning.
        """
        if not hasattr(self, self.fitted_attribute):
            return self.fit(X, y)
        inputs = self._known_inputs(X)
        Y = checked_labels(y, n_instances=n_rows(inputs), n_labels=self.n_labels_)
        members, left = updating.with_instances(self.members_, inputs, Y)
        self._warn_of(left, "learn from further instances")
        counts = self.label_counts_ + counts_of(Y)
        self._set_members(members, np.arange(self.n_labels_), counts)
        return self

    def add_labels(self, X: Any, y: Any, *, label_texts: Sequence[str] | None = None) -> Self:
        """Add labels, from instances that have them.

        Members that cannot are left as they are, with a warning.

        Parameters
        ----------
        X : what `fit` takes
        y : sparse matrix, array or list of lists (n_instances, n_labels)
            The columns of new labels come after those of known ones.
        label_texts : sequence of str, optional
            Names of the new labels.
        """
        self.check_fitted()
        inputs = self._known_inputs(X)
        Y = checked_labels(y, n_instances=n_rows(inputs))
        n_new = Y.shape[1] - self.n_labels_
        if n_new < 1:
            raise DataError(
                f"y must have more columns than the {self.n_labels_:,} known labels, got "
                f"{Y.shape[1]:,}"
            )
        if label_texts is not None and len(label_texts) != n_new:
            raise DataError(
                f"label_texts must be {n_new:,} texts of new labels, got {len(label_texts):,}"
            )
        members, left = updating.with_labels(self.members_, inputs, Y, self.n_labels_, label_texts)
        self._warn_of(left, "take new labels")
        counts = counts_of(Y)
        counts[: self.n_labels_] = self.label_counts_  # their instances may be known
        self._set_members(members, np.arange(self.n_labels_), counts, label_texts)
        return self

    def remove_labels(self, labels: npt.ArrayLike) -> Self:
        """Drop labels by id; the others keep their order."""
        self.check_fitted()
        members, kept = updating.without_labels(self.members_, labels, self.n_labels_)
        self._set_members(members, kept, self.label_counts_[kept])
        return self

    def to_state(self) -> State:
        """Return settings, the fusion, and members with their features as parts."""
        self.check_fitted()
        return ensemble_state.to_state(self)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check settings and labels; members and fusion are held against each other later."""
        ensemble_state.check(state)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted ensemble again; `members` are then the fitted ones."""
        parameters, learned = ensemble_state.from_state(state)
        parameters["held_out"] = HeldOutConfig.from_dict(parameters["held_out"])
        ensemble = cls(**parameters)
        ensemble.__dict__ |= learned
        return ensemble

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy; members that were given fitted stay so, as they are used."""
        from multitudes.scikit_learn import clone

        parameters = self.get_params(deep=False)
        members = parameters.pop("members")
        is_mapping = hasattr(members, "items")
        pairs = members.items() if is_mapping else enumerate(members)
        copies = {key: _cloned(one) for key, one in pairs}
        others = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(copies if is_mapping else list(copies.values()), **others)

    def _known_inputs(self, X: Any) -> Any:
        return checked_text_list(X) if self.reads_texts else self.known_features(X)

    def _note_inputs(self, X: Any, data: Learning) -> None:
        if not data.is_texts:
            self.n_features_in_ = int(data.inputs.shape[1])
            self.note_feature_names(X)

    def _set_members(
        self,
        members: list[Member],
        kept: IntArray,
        counts: FloatArray,
        new_texts: Sequence[str] | None = None,
    ) -> None:
        self.fusion_ = self.fusion_.resized(kept, counts, new_texts)
        self.members_, self.label_counts_, self.n_labels_ = members, counts, len(counts)

    def _warn_of(self, left: list[str], what: str) -> None:
        if len(left) == len(self.members_):
            raise ConfigError(f"none of the members can {what}: fit again on all data")
        if left:
            warnings.warn(
                f"{', '.join(left)} cannot {what}, and stay as they are: fit again to change them",
                UserWarning,
                stacklevel=3,
            )


def _cloned(member: Any) -> Any:
    """Return an unfitted copy of a member as it was given, or itself if it is fitted."""
    from multitudes.scikit_learn import clone

    (given,) = given_members([member])
    return member if given.is_fitted else clone(member, safe=False)
