"""Tagger: features and a model in one estimator; texts in, label names out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

from multitudes import memory, progress
from multitudes.data import Dataset, LabelSpace
from multitudes.errors import ConfigError, DataError, StoreError
from multitudes.groups.grouped_dataset import groups_to_learn
from multitudes.scores.calibrated import CalibrationConfig
from multitudes.store import State, load, save
from multitudes.store.folder import check_writable
from multitudes.tagger import inputs, updating
from multitudes.tagger.announcing import announce
from multitudes.tagger.assembly import TaggerSpec, assemble, check_spec, learns_from_names
from multitudes.tagger.auto.deadline import check_for_budget, seconds_of
from multitudes.tagger.devices import move
from multitudes.tagger.explanations import texts_to_show
from multitudes.tagger.fitted import FittedTagger
from multitudes.tagger.presets import AUTO
from multitudes.tagger.settings import dotted
from multitudes.tagger.storing import check_tagger, from_parts, tagger_state
from multitudes.tagger.training import TrainingData, fit_model, with_labels_of_members


class Tagger(FittedTagger):
    """Learns from texts and their labels, and tags new texts.

    Parameters
    ----------
    model : str or estimator
        A name ("xr-linear", "parabel", "one-vs-all"; a text encoder: "prime", "prime-lite", ...;
        see `multitudes.models.model_names`), "auto" to choose a linear model by the size of the
        data, or any estimator with ``fit(X, y)`` and ``predict(X, top_k=)``.
    features : str or estimator, optional
        Turns texts into X with ``fit_transform`` and ``transform``; defaults to TF-IDF. Also by
        name, with commas between several: "tfidf,encoder:FOLDER" puts the embeddings of a saved
        text encoder beside the words. For data that comes as X, defaults to `PassThrough` with rows
        scaled to length 1, as TF-IDF rows are. Models that read texts take no features.
    settings : mapping, optional
        Settings by name, e.g. ``{"branching": 8, "solver.cost": 2.0, "features.min_df": 2}``
        (``solver__cost`` is accepted too). With ``{"overlap": 2}`` a label of a tree model may live
        in two leaves (`Disentangled`); ``groups.n_steps`` and the like say how labels of groups are
        assigned (`Eagle`).
    random_state : int
        Same seed, same tagger.
    n_jobs : int, optional
        Threads; defaults to all cores.
    device : str, optional
        Where a text encoder is trained: "cpu", "cuda", "mps", or "auto", the default, for the GPU
        if there is one.
    verbose : bool
        Show progress on stderr.
    budget : str, float or timedelta, optional
        With "auto", a time to train in: "90s", "10m", "1h30m", or seconds. It trains as many
        members as fit in, measures them on a part that it holds out, and fuses those that help;
        at the end of the time, or at Ctrl-C, it is made of what is ready. By default it trains one
        linear model.
    memory_limit : int or str, optional
        What the process may hold in all while it learns, e.g. "8GB": larger arrays then lie on
        disk. It changes nothing that is learned.

    Attributes
    ----------
    model_ : the fitted model
    features_ : the fitted features, or None for a model that reads texts
    takes_texts_ : bool
        Whether it was fitted on texts, not on X.
    classes_ : tuple of str
        The name of each label id.
    titles_ : dict of str to str
        What people call a label, by its name, if its name is e.g. a URI.
    feature_names_ : sequence of str or None
        Names of the columns of X, for a tagger fitted on X that had them.
    choice_ : str
        Which model was taken, and why.
    auto_report_ : AutoReport or None
        What was trained with a budget, and what each member is worth.
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

    fitted_attribute: ClassVar[str] = "model_"
    reads_texts: ClassVar[bool] = True

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
        budget: str | float | timedelta | None = None,
        memory_limit: str | int | None = None,
    ) -> None:
        self.model = model
        self.features = features
        self.settings = settings
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose
        self.budget = budget
        self.memory_limit = memory_limit

    def check(self) -> None:
        """Refuse an unknown model, setting or device at once, before any data is read.

        With "auto", a setting of any model that may be chosen is accepted here.
        """
        spec = self._spec()
        if self.budget is not None:
            seconds_of(self.budget)
            check_for_budget(self.model)
            spec = spec._replace(device=None)
        check_spec(spec)

    def fit(
        self,
        texts: Iterable[str] | Dataset,
        labels: Any = None,
        *,
        label_names: Sequence[str] | None = None,
        label_texts: Mapping[str, str] | Sequence[str] | None = None,
        from_groups: bool | None = None,
        validation: Dataset | tuple[Any, Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn from texts and, for each, a list of label names; or from a Dataset.

        Parameters
        ----------
        texts : sequence of str, or Dataset
            A list, an array, a column of pandas, polars or Hugging Face. A Dataset, of texts or of
            features, brings its labels. None at all, ``fit([], [], label_names=...)``, for a model
            that finds labels by their names.
        labels : sequence of sequences of str, or 0/1 matrix (n_instances, n_labels)
            The label names of each text; or an array, sparse matrix or DataFrame of 0 and 1.
        label_names : sequence of str, optional
            The label space, by default all names that occur; or the names of a matrix's columns.
        label_texts : mapping of str to str, or sequence of str, optional
            Descriptions of labels, by name or in the order of `label_names`, for models that read
            them; a label without one is described by its name.
        from_groups : bool, optional
            Whether to learn from the labels of groups, through `Eagle`; by default if groups have
            labels and instances have none. Then the labels of an instance that is in a group are
            compared with those that it was given, in `group_report_`; one that is in no group
            is learned from as it is.
        validation : Dataset or (texts, labels), optional
            Instances kept aside. Labels are matched by name, and those the training data lacks
            are left out. A model trained in epochs is measured on them after each and keeps the
            best; others have no use for them.
        checkpoint : path, optional
            Folder to save to during a long training; one that was stopped goes on from there.
        """
        dataset = inputs.labeled(texts, labels, label_names=label_names, label_texts=label_texts)
        dataset = with_labels_of_members(self.model, dataset)
        if isinstance(validation, tuple):
            validation = inputs.labeled(*validation)
        if checkpoint is not None:
            check_writable(Path(checkpoint))
        if from_groups is None:
            from_groups = dataset.group_labels is not None and not dataset.Y.nnz
        names_alone = not len(dataset) and learns_from_names(self.model)
        if not names_alone and (not len(dataset) or not (from_groups or dataset.Y.nnz)):
            raise DataError(
                f"there is nothing to learn from: {dataset!r}; at least one instance needs a label"
            )
        grouped = groups_to_learn(dataset) if from_groups else None
        data = TrainingData(dataset, grouped, validation, checkpoint, self.n_jobs)
        with memory.limited(self.memory_limit), progress.shown(self.verbose):
            if self.budget is None:
                self._fit_model(data)
            else:
                self._fit_in_budget(data)
        self.classes_ = tuple(LabelSpace.of(dataset).names)
        self.takes_texts_, self.feature_names_ = dataset.texts is not None, dataset.feature_names
        self.examples_ = texts_to_show(self.model_, data.texts_of_rows())
        self.titles_ = inputs.label_titles(dataset)
        self.calibrated_ = None
        return self

    def _fit_model(self, data: TrainingData) -> None:
        parts = assemble(self._spec(), data.dataset, from_groups=data.grouped is not None)
        announce(parts, data)
        self.model_, self.group_report_ = fit_model(parts.model, parts.features, data)
        self.features_, self.choice_, self.auto_report_ = parts.features, parts.choice, None

    def _fit_in_budget(self, data: TrainingData) -> None:
        from multitudes.tagger.auto.fitting import fit_in_budget  # members need much else

        chosen = fit_in_budget(self._spec(), data, self.budget)
        self.model_, self.features_, self.group_report_ = chosen.model, chosen.features, None
        self.choice_, self.auto_report_ = chosen.choice, chosen.report

    def fit_groups(
        self,
        texts: Sequence[str],
        groups: Sequence[inputs.Group | Sequence[inputs.Group] | None],
        group_labels: Mapping[inputs.Group, Sequence[str]],
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
        return self.fit(inputs.grouped_texts(texts, groups, group_labels), from_groups=True)

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
        self.check_fitted()
        move(self.model_, self.features_, device, precision)
        return self

    def calibrate(
        self, texts: Any, labels: Any = None, *, config: CalibrationConfig = CalibrationConfig()
    ) -> Self:
        """Learn probabilities and label sets from labeled texts that `fit` has not seen.

        `calibration_report` then says how reliable they are. A change of the model, e.g. by
        `add_labels`, discards them.

        Parameters
        ----------
        texts, labels : as in `fit`
            A few hundred instances or more. Labels are matched by name; those the tagger does
            not know are left out.
        config : CalibrationConfig, optional
            Method of calibration, rule for sets, the F1 it is tuned for.
        """
        predictor = self._predictor()
        known = inputs.known_labels(self._labeled(texts, labels), self.classes_)
        self.calibrated_ = predictor.calibration(self._inputs_of(known), known, config)
        return self

    def partial_fit(self, texts: Any, labels: Any = None) -> Self:
        """Learn from further texts (or rows of X) of known labels; a first call is `fit`.

        Words that no text had when the tagger was fitted stay unknown.

        Parameters
        ----------
        texts, labels : as in `fit`
        """
        if not hasattr(self, "model_"):
            return self.fit(texts, labels)
        updating.check_updatable(self.model_, "partial_fit")
        dataset = self._labeled(texts, labels)
        Y = updating.known_matrix(dataset, self.classes_)
        with progress.shown(self.verbose):
            self.model_.partial_fit(self._predictor().transform(self._inputs_of(dataset)), Y)
        self.calibrated_ = None  # other scores, other probabilities
        return self

    def add_labels(
        self,
        texts: Any = None,
        labels: Any = None,
        *,
        label_texts: Mapping[str, str] | Sequence[str] | None = None,
    ) -> Self:
        """Add the labels that are new, without training the others again.

        New names are appended to `classes_`, in alphabetical order.

        Parameters
        ----------
        texts, labels : as in `fit`, optional
            Texts that have the new labels; a model over features needs them. Known labels may
            appear too: their texts are what new labels are told apart from.
        label_texts : mapping of str to str, or sequence of str
            New labels for a text encoder, which needs nothing but their description: texts by name,
            or names that say enough. `texts` with these labels are examples, and help.
        """
        self.check_fitted()
        updating.check_updatable(self.model_, "add_labels")
        given = texts is not None or labels is not None
        dataset = self._labeled(texts, labels) if given else None
        read = None if dataset is None else self._inputs_of(dataset)
        with progress.shown(self.verbose):
            names = updating.add_labels(
                self._predictor(), read, dataset, label_texts, self.classes_
            )
        self.classes_, self.calibrated_ = names, None
        self.titles_ |= {} if dataset is None else inputs.label_titles(dataset)
        return self

    def remove_labels(self, labels: Sequence[str]) -> Self:
        """Drop labels by name; the others keep their order."""
        self.check_fitted()
        updating.check_updatable(self.model_, "remove_labels")
        if isinstance(labels, str):
            raise DataError("remove_labels takes a list of label names, got one str: write [label]")
        dropped = {inputs.label_id(label, self.classes_) for label in labels}
        self.model_.remove_labels(sorted(dropped))
        self.classes_ = tuple(name for i, name in enumerate(self.classes_) if i not in dropped)
        self.calibrated_ = None
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Save as a model folder; an older model there is replaced in one step."""
        save(self, path)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, verify: bool = False, in_memory: bool = False
    ) -> Self:
        """Load what `save` wrote; `verify` and `in_memory` are those of `multitudes.load`."""
        tagger = load(path, verify=verify, in_memory=in_memory)
        if not isinstance(tagger, cls):
            raise StoreError(
                f"{path} holds a {type(tagger).__name__}, not a Tagger: "
                "load it with multitudes.store.load"
            )
        return tagger

    def to_state(self) -> State:
        """Return settings, label names, and model, features and calibration as parts."""
        self.check_fitted()
        return tagger_state(self)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check settings, label names and titles."""
        check_tagger(state)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted tagger again."""
        parameters, learned = from_parts(state)
        tagger = cls(**parameters)
        tagger.__dict__ |= learned
        return tagger

    def _spec(self) -> TaggerSpec:
        given = {} if self.settings is None else self.settings
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ConfigError(f"settings must be a mapping of names to values, got {given!r:.200}")
        settings = {dotted(name): value for name, value in given.items()}
        return TaggerSpec(
            self.model, self.features, settings, self.random_state, self.n_jobs, self.device
        )
