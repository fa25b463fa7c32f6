"""Tagger: features and a model behind one door; texts in, label names out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from multitudes import progress
from multitudes.data import Dataset
from multitudes.disentangle import ambiguous
from multitudes.errors import ConfigError, DataError, NotFittedError, StoreError
from multitudes.groups.grouped_dataset import groups_to_learn
from multitudes.store import State, Storable, build, load, save
from multitudes.tagger.assembly import Wishes, assemble, check_wishes
from multitudes.tagger.group_lists import Group, grouped_texts
from multitudes.tagger.group_report import GroupReport
from multitudes.tagger.label_lists import label_matrix
from multitudes.tagger.presets import AUTO
from multitudes.tagger.senses import (
    AmbiguousLabel,
    WordSense,
    checked_overlapping,
    typical_texts,
    word_sense,
)
from multitudes.tagger.update import Updates
from multitudes.tagger.word_explanation import WordExplanation
from multitudes.types import Predictions, Sparse

BATCH = 4096  # instances scored at a time: enough to fill the threads, little memory
SEARCHED_NAMES = 20_000  # label names compared with a misspelt one: more would take seconds


class Tag(NamedTuple):
    """A label given to a text, and its score."""

    label: str
    score: float


class Tagger(Updates, BaseEstimator):  # type: ignore[misc]
    """Learns from texts and their labels, and tags new texts.

    Parameters
    ----------
    model : str or estimator
        A preset ("xr-linear", "parabel", "one-vs-all"), "auto" to choose among them by the size
        of the data, or any estimator with ``fit(X, Y)`` and ``predict(X, top_k=)``.
    features : estimator, optional
        Turns texts into X with ``fit_transform`` and ``transform``; TF-IDF where absent. For data
        that comes as X, `PassThrough` with rows scaled to length 1, as TF-IDF rows are.
    settings : mapping, optional
        Settings by name, e.g. ``{"branching": 8, "features.min_df": 2}``. With
        ``{"overlap": 2}`` a label of a tree preset may live in two leaves (`Disentangled`);
        ``groups.n_steps`` and its kin say how labels of groups are assigned (`Eagle`).
    seed : int
        Same seed, same tagger.
    n_threads : int, optional
        All cores where absent.
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    model_ : the fitted model
    features_ : the fitted features
    takes_texts_ : bool
        False for a tagger fitted on X.
    labels_ : tuple of str
        The name of each label id.
    feature_names_ : sequence of str or None
        Names of the columns of X, for a tagger fitted on X that had them.
    choice_ : str
        Which model was taken, and why.
    examples_ : dict of int to str
        Shortened training texts, by row, that `senses` shows; with overlap only.
    group_report_ : GroupReport or None
        How labels of groups were assigned to instances, for a tagger that learned from groups.

    Examples
    --------
    >>> tagger = Tagger("xr-linear").fit(texts, labels)  # doctest: +SKIP
    >>> tagger.predict(["a leather belt"], top_k=2)  # doctest: +SKIP
    [[Tag(label='belts', score=0.93), Tag(label='leather goods', score=0.81)]]
    """

    def __init__(
        self,
        model: str | Any = AUTO,
        *,
        features: Any = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.features = features
        self.settings = settings
        self.seed = seed
        self.n_threads = n_threads
        self.verbose = verbose

    def check(self) -> None:
        """Refuse an unknown model or setting at once, before any data is read.

        Which features and, with "auto", which model will be used depends on the data: a setting
        of any that may be is let through here.
        """
        check_wishes(self._wishes())

    def fit(
        self,
        texts: Sequence[str],
        labels: Sequence[Sequence[str]] | Sparse,
        *,
        label_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn from texts and, for each, a list of label names (or Y with `label_names`)."""
        if sp.issparse(labels):
            Y: Any = labels
            return self.fit_dataset(Dataset(Y=Y, texts=texts, label_names=label_names))
        if isinstance(texts, str) or len(texts) != len(labels):
            n_texts = "one str" if isinstance(texts, str) else f"{len(texts):,} texts"
            raise DataError(
                f"fit needs one list of labels per text, got {n_texts} and {len(labels):,} lists"
            )
        Y, names = label_matrix(labels, label_names)
        return self.fit_dataset(Dataset(Y=Y, texts=texts, label_names=names))

    def fit_dataset(self, dataset: Dataset, *, from_groups: bool | None = None) -> Self:
        """Learn from a Dataset, of texts or of features.

        Parameters
        ----------
        dataset : Dataset
        from_groups : bool, optional
            Whether to learn from the labels of groups, through `Eagle`; by default where groups
            have labels and instances have none. Then the labels of an instance that is in a group
            are compared with those that it was given, in `group_report_`; one that is in no group
            is learned from as it is.
        """
        if from_groups is None:
            from_groups = dataset.group_labels is not None and not dataset.Y.nnz
        if not len(dataset) or not (from_groups or dataset.Y.nnz):
            raise DataError(
                f"there is nothing to learn from: {dataset!r}; at least one instance needs a label"
            )
        grouped = groups_to_learn(dataset) if from_groups else None
        model, features, choice = assemble(self._wishes(), dataset, from_groups=from_groups)
        takes_texts = dataset.texts is not None
        self.group_report_ = None
        with progress.shown(self.verbose):
            X = features.fit_transform(dataset.texts if takes_texts else dataset.X)
            if grouped is None:
                model.fit(X, dataset.Y)
            else:
                eagle = model.fit(X, *grouped)
                self.group_report_ = GroupReport.of(dataset, *grouped, eagle.imputation_.Y)
                model = eagle.model_  # all that tags texts; how it was taught is in the report
        names = dataset.label_names or [str(label) for label in range(dataset.n_labels)]
        self._set_learned(model, features, names, choice)
        self.takes_texts_, self.feature_names_ = takes_texts, dataset.feature_names
        self.examples_ = {} if dataset.texts is None else typical_texts(model, dataset.texts)
        return self

    def fit_groups(
        self,
        texts: Sequence[str],
        groups: Sequence[Group | Sequence[Group] | None],
        group_labels: Mapping[Group, Sequence[str]],
    ) -> Self:
        """Learn from texts whose labels are known for groups of them only.

        Parameters
        ----------
        texts : sequence of str
        groups : sequence of ids, or of lists of ids
            The group of each text; None or an empty list for a text in no group.
        group_labels : mapping of id to sequence of str
            The label names of each group; a name listed twice counts twice.
        """
        return self.fit_dataset(grouped_texts(texts, groups, group_labels), from_groups=True)

    def predict(
        self, texts: Any, *, top_k: int = 5, threshold: float | None = None
    ) -> list[list[Tag]]:
        """The best labels of each text by name, best first.

        Parameters
        ----------
        texts : sequence of str
            Or X, for a tagger fitted on features.
        top_k : int
            At most so many labels per text.
        threshold : float, optional
            Leave out labels whose score is lower.
        """
        predictions = self.predict_ids(texts, top_k=top_k)
        lowest = -np.inf if threshold is None else threshold
        return [
            [
                Tag(self.labels_[label], score)
                for label, score in zip(labels, scores, strict=True)
                if label >= 0 and score >= lowest
            ]
            for labels, scores in zip(
                predictions.labels.tolist(), predictions.scores.tolist(), strict=True
            )
        ]

    def predict_ids(self, texts: Any, *, top_k: int = 5) -> Predictions:
        """The best label ids of each text (or row of X), with scores."""
        self._check_fitted()
        if isinstance(top_k, bool) or not isinstance(top_k, (int, np.integer)) or top_k < 1:
            raise ConfigError(f"top_k must be a whole number >= 1, got {top_k!r}")
        inputs = self._checked_inputs(texts)
        n = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
        if n <= BATCH:
            return self._predict_batch(inputs, int(top_k))
        batches = []
        with progress.shown(self.verbose), progress.track("predicting", n, "instances") as task:
            for start in range(0, n, BATCH):
                batches.append(self._predict_batch(inputs[start : start + BATCH], int(top_k)))
                task.advance(len(batches[-1]))
        return Predictions(
            np.concatenate([batch.labels for batch in batches]),
            np.concatenate([batch.scores for batch in batches]),
            len(self.labels_),
        )

    def _predict_batch(self, inputs: Any, top_k: int) -> Predictions:
        found: Predictions = self.model_.predict(self.features_.transform(inputs), top_k=top_k)
        return found

    def explain(self, text: Any, label: str) -> WordExplanation:
        """Which words of a text (or columns of a row of X) carried the score of a label.

        The explanation is of the score itself, so any label can be asked about, also one that was
        not predicted.
        """
        self._check_fitted()
        label_id = self._label_id(label)
        if not hasattr(self.model_, "explain"):
            raise ConfigError(f"{type(self.model_).__name__} cannot explain its scores")
        inputs = self._checked_inputs([text] if self.takes_texts_ else text)
        X = self.features_.transform(inputs)
        return WordExplanation.of(self.model_.explain(X, label_id), label, self._feature_names())

    def senses(self, label: str) -> list[WordSense]:
        """What is around a label in each of its leaves; for a tagger with overlap.

        The senses with most texts come first; in an ensemble, tree by tree.
        """
        self._check_fitted()
        model = checked_overlapping(self.model_)
        names = self._feature_names()
        senses = model.senses(self._label_id(label))
        return [word_sense(sense, self.labels_, names, self.examples_) for sense in senses]

    def ambiguous_labels(self, *, top_k: int = 20) -> list[AmbiguousLabel]:
        """The labels whose senses are farthest apart; for a tagger with overlap."""
        self._check_fitted()
        found = ambiguous(checked_overlapping(self.model_)).top(top_k)
        columns = (found.distance, found.variation, found.cosine, found.n_instances)
        names = [self.labels_[label] for label in found.labels.tolist()]
        rows = zip(names, *(column.tolist() for column in columns), strict=True)
        return [AmbiguousLabel(*row) for row in rows]

    def save(self, path: str | PathLike[str]) -> None:
        """Save as a model folder; an older model there is replaced in one step."""
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, verify: bool = False) -> Self:
        """Load what `save` wrote; with `verify`, compare every file's SHA-256."""
        tagger = load(path, verify=verify)
        if not isinstance(tagger, cls):
            raise StoreError(
                f"{path} holds a {type(tagger).__name__}, not a Tagger: "
                "load it with multitudes.store.load"
            )
        return tagger

    def to_state(self) -> State:
        """Settings, label names, and the two estimators as parts."""
        self._check_fitted()
        parts = {"model": self.model_, "features": self.features_}
        for name, part in parts.items():
            if not isinstance(part, Storable):
                raise StoreError(
                    f"the tagger's {name}, {type(part).__name__}, cannot be saved: "
                    "it needs to_state and from_state, and store.register"
                )
        strings: dict[str, Sequence[str]] = {"labels": self.labels_}
        if self.feature_names_ is not None:
            strings["feature_names"] = self.feature_names_
        arrays = {}
        if self.examples_:
            strings["examples"] = list(self.examples_.values())
            arrays["example_rows"] = np.array(list(self.examples_), np.int64)
        return State(
            "tagger",
            {
                "preset": self.model if isinstance(self.model, str) else None,
                "settings": dict(self.settings or {}),
                "seed": self.seed,
                "choice": self.choice_,
                "takes_texts": self.takes_texts_,
                "groups": None if self.group_report_ is None else self.group_report_.to_dict(),
            },
            arrays,
            strings=strings,
            parts={name: part.to_state() for name, part in parts.items()},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted tagger again."""
        model = build(state.parts["model"])
        features = build(state.parts["features"])
        config = state.config
        given = config["preset"] is not None
        tagger = cls(
            config["preset"] if given else model,
            features=None if given else features,
            settings=config["settings"] or None,
            seed=config["seed"],
        )
        tagger._set_learned(model, features, state.strings["labels"], config["choice"])
        tagger.takes_texts_ = bool(config["takes_texts"])
        groups = config.get("groups")  # older folders have none
        tagger.group_report_ = None if groups is None else GroupReport.from_dict(groups)
        tagger.feature_names_ = state.strings.get("feature_names")
        rows, examples = state.arrays.get("example_rows"), state.strings.get("examples", ())
        tagger.examples_ = {} if rows is None else dict(zip(rows.tolist(), examples, strict=True))
        return tagger

    def _wishes(self) -> Wishes:
        return Wishes(self.model, self.features, self.settings or {}, self.seed, self.n_threads)

    def _label_id(self, label: str) -> int:
        if label not in self.labels_:
            near = get_close_matches(label, self.labels_[:SEARCHED_NAMES], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "labels_ lists them"
            raise DataError(f"there is no label {label!r} among {len(self.labels_):,}: {hint}")
        return self.labels_.index(label)

    def _feature_names(self) -> Sequence[str] | None:
        return getattr(self.features_, "feature_names", None) or self.feature_names_

    def _set_learned(self, model: Any, features: Any, names: Sequence[str], choice: str) -> None:
        self.model_, self.features_ = model, features
        self.labels_, self.choice_ = tuple(names), choice

    def _checked_inputs(self, texts: Any) -> Any:
        if not self.takes_texts_:
            if not hasattr(texts, "shape"):
                raise DataError(
                    "this tagger was fitted on features X, not on texts: "
                    f"pass X (n_instances, n_features), got {type(texts).__name__}"
                )
            return texts
        if isinstance(texts, str):
            raise DataError("predict takes a list of texts, got one str: write [text]")
        if sp.issparse(texts):
            raise DataError("this tagger was fitted on texts: pass a list of str, not a matrix")
        return texts if isinstance(texts, (list, tuple)) else list(texts)

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("this Tagger has not learned anything yet: call fit or load first")
