"""Tagger: features and a model behind one door; texts in, label names out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from multitudes import progress
from multitudes.data import Dataset
from multitudes.errors import DataError, NotFittedError, StoreError
from multitudes.features.text_buffer import as_texts
from multitudes.groups.grouped_dataset import groups_to_learn
from multitudes.scores.calibrated import Calibrated
from multitudes.store import State, Storable, build, load, save
from multitudes.store.folder import check_writable
from multitudes.tagger.assembly import Wishes, assemble, check_wishes
from multitudes.tagger.devices import move
from multitudes.tagger.group_lists import Group, grouped_texts
from multitudes.tagger.group_report import GroupReport
from multitudes.tagger.insights import Insights
from multitudes.tagger.label_lists import label_matrix
from multitudes.tagger.label_texts import listed_texts
from multitudes.tagger.learning import Lesson, learn
from multitudes.tagger.presets import AUTO
from multitudes.tagger.probabilities import Probabilities
from multitudes.tagger.update import Updates
from multitudes.types import Predictions, Sparse
from multitudes.validation import checked_count

BATCH = 4096  # instances scored at a time: enough to fill the threads, little memory
SEARCHED_NAMES = 20_000  # label names compared with a misspelt one: more would take seconds


class Tag(NamedTuple):
    """A label given to a text, and its score."""

    label: str
    score: float


class Tagger(Updates, Insights, Probabilities, BaseEstimator):  # type: ignore[misc]
    """Learns from texts and their labels, and tags new texts.

    Parameters
    ----------
    model : str or estimator
        A preset ("xr-linear", "parabel", "one-vs-all", or a text encoder: "prime",
        "prime-lite", ...), "auto" to choose among the first three by the size of the data, or any
        estimator with ``fit(X, Y)`` and ``predict(X, top_k=)``.
    features : str or estimator, optional
        Turns texts into X with ``fit_transform`` and ``transform``; TF-IDF where absent. Names
        do, with commas between: "tfidf,encoder:FOLDER" puts the embeddings of a saved text encoder
        beside the words. For data that comes as X, `PassThrough` with rows scaled to length 1, as
        TF-IDF rows are. Text encoders read texts themselves and take none.
    settings : mapping, optional
        Settings by name, e.g. ``{"branching": 8, "features.min_df": 2}``. With
        ``{"overlap": 2}`` a label of a tree preset may live in two leaves (`Disentangled`);
        ``groups.n_steps`` and its kin say how labels of groups are assigned (`Eagle`).
    random_state : int
        Same seed, same tagger.
    n_jobs : int, optional
        All cores where absent.
    device : str, optional
        Where a text encoder is trained: "cpu", "cuda", "mps", or "auto" for the GPU if there is
        one, which it is where absent.
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    model_ : the fitted model
    features_ : the fitted features, or None for a model that reads texts
    takes_texts_ : bool
        False for a tagger fitted on X.
    labels_ : tuple of str
        The name of each label id.
    feature_names_ : sequence of str or None
        Names of the columns of X, for a tagger fitted on X that had them.
    choice_ : str
        Which model was taken, and why.
    examples_ : dict of int to str
        Shortened training texts, by row, that `senses` or `explain` show; only with overlap, or
        of a text encoder that keeps its instances.
    group_report_ : GroupReport or None
        How labels of groups were assigned to instances, for a tagger that learned from groups.
    calibrated_ : Calibrated or None
        What makes probabilities and label sets of scores, after `calibrate`.

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
        random_state: int = 0,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.features = features
        self.settings = settings
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def check(self) -> None:
        """Refuse an unknown model, setting or device at once, before any data is read.

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
        label_texts: Mapping[str, str] | Sequence[str] | None = None,
    ) -> Self:
        """Learn from texts and, for each, a list of label names (or Y with `label_names`).

        `label_texts` describe labels, by name or in the order of `label_names`, to models that read
        them; a label without one is described by its name.
        """
        texts = as_texts(texts)
        if sp.issparse(labels):
            Y: Any = labels
            names = label_names
        else:
            Y, names = label_matrix(labels, label_names)
            if len(texts) != Y.shape[0]:
                raise DataError(
                    f"fit needs one list of labels per text, got {len(texts):,} texts and "
                    f"{Y.shape[0]:,} lists"
                )
        described = listed_texts(label_texts, names or [str(label) for label in range(Y.shape[1])])
        return self.fit_dataset(Dataset(Y=Y, texts=texts, label_names=names, label_texts=described))

    def fit_dataset(
        self,
        dataset: Dataset,
        *,
        from_groups: bool | None = None,
        validation: Dataset | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn from a Dataset, of texts or of features.

        Parameters
        ----------
        dataset : Dataset
        from_groups : bool, optional
            Whether to learn from the labels of groups, through `Eagle`; by default where groups
            have labels and instances have none. Then the labels of an instance that is in a group
            are compared with those that it was given, in `group_report_`; one that is in no group
            is learned from as it is.
        validation : Dataset, optional
            Instances kept aside. Labels are matched by name, and those the training data lacks
            are left out. A model trained in epochs is measured on them after each and keeps the
            best; others have no use for them.
        checkpoint : path, optional
            Folder to save to during a long training; one that was stopped goes on from there.
        """
        if checkpoint is not None:
            check_writable(Path(checkpoint))
        if from_groups is None:
            from_groups = dataset.group_labels is not None and not dataset.Y.nnz
        if not len(dataset) or not (from_groups or dataset.Y.nnz):
            raise DataError(
                f"there is nothing to learn from: {dataset!r}; at least one instance needs a label"
            )
        grouped = groups_to_learn(dataset) if from_groups else None
        model, features, choice = assemble(self._wishes(), dataset, from_groups=from_groups)
        lesson = Lesson(dataset, grouped, validation, checkpoint, self.n_jobs)
        with progress.shown(self.verbose):
            model, self.group_report_ = learn(model, features, lesson)
        names = dataset.label_names or [str(label) for label in range(dataset.n_labels)]
        self._set_learned(model, features, names, choice)
        self.takes_texts_, self.feature_names_ = dataset.texts is not None, dataset.feature_names
        self.examples_ = lesson.texts_to_show(model)
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
        return self._tags(self.predict_ids(texts, top_k=top_k).above(threshold))

    def _tags(self, predictions: Predictions) -> list[list[Tag]]:
        return [
            [
                Tag(self.labels_[label], score)
                for label, score in zip(labels, scores, strict=True)
                if label >= 0
            ]
            for labels, scores in zip(
                predictions.labels.tolist(), predictions.scores.tolist(), strict=True
            )
        ]

    def predict_ids(self, texts: Any, *, top_k: int = 5) -> Predictions:
        """The best label ids of each text (or row of X), with scores."""
        self._check_fitted()
        checked_count(top_k, "top_k")
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
        X = inputs if self.features_ is None else self.features_.transform(inputs)
        found: Predictions = self.model_.predict(X, top_k=top_k)
        return found

    def to(self, device: str | None = None, *, precision: str | None = None) -> Self:
        """Predict on a device, or in a number format; what is not given stays as it is.

        Parameters
        ----------
        device : str, optional
            "cpu", "cuda", "mps", or "auto" for the GPU if there is one. A loaded tagger starts on
            the CPU; one without a text encoder stays there.
        precision : str, optional
            "float32", "bf16", or "auto" for bf16 where the processor has it; of text encoders
            alone. It is not saved: the setting `precision` is.
        """
        self._check_fitted()
        move(self.model_, self.features_, device, precision)
        return self

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
        """Settings, label names, and model and features as parts."""
        self._check_fitted()
        parts = {
            "model": self.model_, "features": self.features_, "calibrated": self.calibrated_
        }  # fmt: skip
        parts = {name: part for name, part in parts.items() if part is not None}
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
                "features": self.features if isinstance(self.features, str) else None,
                "settings": dict(self.settings or {}),
                "random_state": self.random_state,
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
        features = build(state.parts["features"]) if "features" in state.parts else None
        config = state.config
        given = config["preset"] is not None
        tagger = cls(
            config["preset"] if given else model,
            features=config.get("features") if given else features,
            settings=config["settings"] or None,
            random_state=config["random_state"],
        )
        tagger._set_learned(model, features, state.strings["labels"], config["choice"])
        tagger.takes_texts_ = bool(config["takes_texts"])
        if "calibrated" in state.parts:
            tagger.calibrated_ = Calibrated.from_state(state.parts["calibrated"])
        groups = config.get("groups")  # older folders have none
        tagger.group_report_ = None if groups is None else GroupReport.from_dict(groups)
        tagger.feature_names_ = state.strings.get("feature_names")
        rows, examples = state.arrays.get("example_rows"), state.strings.get("examples", ())
        tagger.examples_ = {} if rows is None else dict(zip(rows.tolist(), examples, strict=True))
        return tagger

    def _wishes(self) -> Wishes:
        settings = self.settings or {}
        return Wishes(
            self.model, self.features, settings, self.random_state, self.n_jobs, self.device
        )

    def _label_id(self, label: str) -> int:
        if label not in self.labels_:
            near = get_close_matches(label, self.labels_[:SEARCHED_NAMES], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "labels_ lists them"
            raise DataError(f"there is no label {label!r} among {len(self.labels_):,}: {hint}")
        return self.labels_.index(label)

    def _set_learned(self, model: Any, features: Any, names: Sequence[str], choice: str) -> None:
        self.model_, self.features_ = model, features
        self.labels_, self.choice_ = tuple(names), choice
        self.calibrated_ = None

    def _checked_inputs(self, texts: Any) -> Any:
        if not self.takes_texts_:
            if not getattr(texts, "shape", ()):
                raise DataError(
                    "this tagger was fitted on features X, not on texts: "
                    f"pass X (n_instances, n_features), got {type(texts).__name__}"
                )
            return texts
        if isinstance(texts, str):
            raise DataError("predict takes a list of texts, got one str: write [text]")
        if sp.issparse(texts):
            raise DataError("this tagger was fitted on texts: pass a list of str, not a matrix")
        return as_texts(texts)

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("this Tagger has not learned anything yet: call fit or load first")
