"""Prime: a text encoder and a prototype for each label; the nearest labels are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch

from multitudes import progress
from multitudes.deep.devices import choose_device
from multitudes.deep.processor import checked_precision
from multitudes.deep.texts.inputs import (
    Texts,
    all_texts,
    checked_label_texts,
    checked_texts,
    checked_validation,
)
from multitudes.deep.texts.tokens import TokenRows, joined
from multitudes.deep.training import History, TrainingConfig
from multitudes.deep.training.config import stored_settings
from multitudes.encoder.backbone.embedding import PredictionEncoder, embed
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.backbone.model import Backbone, BackboneConfig
from multitudes.encoder.classifier import ClassifierConfig, train_classifier
from multitudes.encoder.cut_texts import follow_texts, warn_of_cut_texts
from multitudes.encoder.explanation import Explanation, KeptInstances, source_shares
from multitudes.encoder.fitting import (
    PrimeConfig,
    TrainingTexts,
    Validation,
    fit_network,
    label_prototypes,
    no_instances,
    untrained_network,
)
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.network import PrimeNetwork
from multitudes.encoder.new_labels import NewLabels, example_centroids, sources_of_label
from multitudes.encoder.prototypes.network import SOURCES, PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.encoder.stored import check_prime, check_with_backbone
from multitudes.encoder.updating import (
    UpdateConfig,
    of_update,
    update_network,
    with_added_labels,
    without_labels,
)
from multitudes.errors import DataError
from multitudes.estimator import Estimator
from multitudes.store import State
from multitudes.types import FloatArray, Predictions, Sparse
from multitudes.validation import checked_count, checked_label, checked_labels, checked_removal


class Prime(Estimator):
    """A text encoder with label prototypes, trained together (PRIME).

    Instances and labels are texts. One encoder embeds both; a label's prototype also takes in the
    centroid of its instances and a free vector. Prediction is a nearest-prototype search.

    Parameters
    ----------
    backbone : BackboneConfig
        The text encoder, its lengths and how it runs.
    prototypes : PrototypeConfig
        What prototypes are made of.
    loss : LossConfig
        Terms and margins.
    sampler : SamplerConfig
        How batches are put together.
    training : TrainingConfig
        Epochs, learning rate, precision, checkpoints; `random_state` is the one below.
    update : UpdateConfig
        How `partial_fit` goes on.
    index : IndexConfig
        How prototypes are searched.
    classifier : bool
        Train one vector per label on top of the frozen encoder, started from its prototype:
        PRIME (W).
    classifier_settings : ClassifierConfig
        How these are trained.
    keep_instances : bool
        Keep the training instances' embeddings with the model, two bytes a number, for `explain`.
    precision : "auto", "float32", "bf16" or "int8"
        Number format of prediction; auto is bf16 if the processor has it, twice as fast. `to` sets
        another one for this object, without changing what is saved.
    random_state : int
        Same seed, same model (on a CPU).
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    network_ : PrimeNetwork
    index_ : PrototypeIndex
        Holds `label_vectors_`, what instances are compared with.
    history_ : History
        Loss and validation metrics of each epoch. This and the following attributes describe
        `fit`: a model that was loaded does not have them.
    n_left_out_ : int
        Training instances without labels: nothing is learned from them.
    n_empty_, n_labels_without_text_ : int
        Training texts, and label texts, without a word.
    n_cut_ : int
        Texts of both longer than `max_length` or `label_max_length`.

    References
    ----------
    Dahiya, Ortego and Jiménez, Prototypical Extreme Multi-label Classification with a Dynamic
    Margin Loss, NAACL 2025.
    """

    reads_texts: ClassVar[bool] = True
    needs_label_texts: ClassVar[bool] = True
    trains_in_epochs: ClassVar[bool] = True
    restricts_labels: ClassVar[bool] = True
    fitted_attribute: ClassVar[str | None] = "index_"

    _precision: str | None = None  # set by `to`, instead of `precision`

    def __init__(
        self,
        *,
        backbone: BackboneConfig = BackboneConfig(),
        prototypes: PrototypeConfig = PrototypeConfig(),
        loss: LossConfig = LossConfig(),
        sampler: SamplerConfig = SamplerConfig(),
        training: TrainingConfig = TrainingConfig(),
        update: UpdateConfig = UpdateConfig(),
        index: IndexConfig = IndexConfig(),
        classifier: bool = False,
        classifier_settings: ClassifierConfig = ClassifierConfig(),
        keep_instances: bool = False,
        precision: str = "auto",
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.backbone = backbone
        self.prototypes = prototypes
        self.loss = loss
        self.sampler = sampler
        self.training = training
        self.update = update
        self.index = index
        self.classifier = classifier
        self.classifier_settings = classifier_settings
        self.keep_instances = keep_instances
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Texts,
        y: Any,
        *,
        label_texts: Texts | None = None,
        validation: tuple[Texts, Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn from texts and their labels.

        An encoder whose prototypes are the texts of labels alone (`dpr`, `siamese`, `ngame`) can do
        without: ``fit([], None, label_texts=...)`` compares texts with the names of labels, as its
        backbone was trained to.

        Parameters
        ----------
        X : sequence of str, or TokenRows
            The texts, or their token ids.
        y : sparse matrix, array or list of lists (n_instances, n_labels)
            1 where an instance has a label.
        label_texts : sequence of str, or TokenRows
            The text of each label. A label without text has only its centroid and free vector.
        validation : (texts, y), optional
            Instances kept aside: their P@1, P@5 and R@100 are measured after each epoch, and the
            best epoch's weights are kept.
        checkpoint : path, optional
            Folder to save to now and then; a training found there is resumed. It stays when
            training is over, until you remove it: save the model first.
        """
        config = self._config()
        X = checked_texts(X, "X")
        if label_texts is None:
            raise DataError(
                "Prime needs the text of each label: pass label_texts=..., in the order of Y's "
                "columns (a label's name will do)"
            )
        by_names = self.learns_from_names and not len(X)
        Y = no_instances(label_texts) if by_names else checked_labels(y, n_instances=len(X))
        label_texts = checked_label_texts(label_texts, Y)
        checked_precision(self.precision)
        with progress.shown(self.verbose):
            backbone = load_backbone(
                self.backbone, texts=all_texts(X, label_texts), random_state=self.random_state
            )
            follow_texts(backbone, X, label_texts)
            texts = self._tokenized(backbone, X, label_texts, Y)
            if by_names:
                network, self.history_ = untrained_network(texts, backbone, config), History()
            else:
                validate = validation and self._validation(backbone, texts, validation)
                network, self.history_ = fit_network(
                    texts, backbone, config, validate=validate, checkpoint=checkpoint
                )
            self._finish(network, texts)
        return self

    @property
    def learns_from_names(self) -> bool:
        """Whether the names of labels are enough, because its prototypes have no other source."""
        plain = tuple(self.prototypes.sources) == ("text",) and self.prototypes.combine == "sum"
        return plain and not self.classifier

    def _config(self) -> PrimeConfig:
        training = self.training.with_random_state(self.random_state)
        return PrimeConfig(self.prototypes, self.loss, self.sampler, training)

    def _tokenized(
        self, backbone: Backbone, X: Texts, label_texts: Texts, Y: Sparse
    ) -> TrainingTexts:
        instances = backbone.tokenize(X)
        warn_of_cut_texts(backbone, X, instances.n_cut)
        labels = backbone.tokenize_labels(label_texts)
        self.n_left_out_ = int(np.count_nonzero(np.diff(Y.indptr) == 0))
        self.n_empty_, self.n_labels_without_text_ = instances.n_empty, labels.n_empty
        self.n_cut_ = instances.n_cut + labels.n_cut
        return TrainingTexts(instances.rows, labels.rows, Y)

    def _validation(
        self, backbone: Backbone, texts: TrainingTexts, validation: tuple[Texts, Any]
    ) -> Validation:
        some, Y = checked_validation(validation, n_labels=texts.Y.shape[1])
        return Validation(backbone.tokenize(some).rows, Y, texts.labels)

    def _finish(
        self, network: PrimeNetwork, texts: TrainingTexts, update: UpdateConfig | None = None
    ) -> None:
        """Set the label vectors and their index, from a network that was trained, or updated."""
        network.backbone.merge_adapters()
        embeddings = np.zeros((0, network.backbone.dim), np.float32)
        if self.classifier or self.keep_instances:
            embeddings = embed(network.backbone, texts.instances, "embedding instances")
        if self.classifier and update is not None:
            vectors = np.array(self.label_vectors_)
        else:
            vectors, _ = label_prototypes(network, texts.labels)
        if self.classifier:
            config = self.classifier_settings
            vectors = train_classifier(
                embeddings,
                texts.Y,
                vectors,
                config=config if update is None else of_update(config, update),
                random_state=self.random_state,
                device=network.backbone.device,
            )
            vectors = network.world.array_from_first(vectors)
        kept = KeptInstances.of(embeddings, texts.Y) if self.keep_instances else None
        if kept is not None and update is not None and self.instances_ is not None:
            kept = self.instances_.with_more(embeddings, texts.Y)
        self._set_learned(network, texts.labels, vectors, kept)

    def _set_learned(
        self,
        network: PrimeNetwork,
        labels: TokenRows,
        vectors: FloatArray,
        instances: KeptInstances | None,
        added_centroids: FloatArray | None = None,
    ) -> None:
        none_added = np.zeros((0, network.backbone.dim), np.float32)
        self.added_centroids_ = none_added if added_centroids is None else added_centroids
        self.network_, self.label_rows_, self.instances_ = network, labels, instances
        self._encoder: PredictionEncoder | None = None
        index = self.index
        if self.prototypes.on_host:
            index = replace(index, label_memory="host")
        self.index_ = PrototypeIndex(vectors, index)

    @property
    def label_vectors_(self) -> FloatArray:
        """Vectors (n_labels, d) that texts are compared with: prototypes, or the classifier's."""
        self.check_fitted()
        return self.index_.vectors

    @property
    def n_labels_(self) -> int:
        """Number of labels that can be predicted, including added ones."""
        return len(self.label_vectors_)

    def embed(self, X: Texts) -> FloatArray:
        """Return embeddings (n, d) of texts, of unit length."""
        self.check_fitted()
        backbone = self.network_.backbone
        precision = self._precision or self.precision
        if self._encoder is None or self._encoder.setting != precision:
            self._encoder = PredictionEncoder(backbone, precision)
        rows = backbone.tokenize(checked_texts(X, "X")).rows
        return self._encoder(rows)

    def predict(
        self,
        X: Texts,
        *,
        top_k: int = 5,
        filter_pairs: npt.ArrayLike | None = None,
        labels: npt.ArrayLike | None = None,
    ) -> Predictions:
        """Return the `top_k` nearest labels of each text; scores are cosines.

        `filter_pairs` (n_pairs, 2) are (row, label) pairs to leave out, for texts that are labels
        themselves. `labels` are the ids of those that may be predicted; among these the search
        is exact.
        """
        self.check_fitted()
        top_k = checked_count(top_k, "top_k")
        vectors = self.embed(X)
        return self.index_.search(vectors, top_k=top_k, filter_pairs=filter_pairs, labels=labels)

    def to(self, device: str | None = None, *, precision: str | None = None) -> Self:
        """Predict on a device, e.g. "cuda", or in a number format: see `precision`.

        A loaded model starts on the CPU. What is not given stays as it is.
        """
        self.check_fitted()
        if precision is not None:
            self._precision = checked_precision(precision)
        if device is not None:
            self.network_.to(choose_device(device))
            self._encoder = None
        return self

    def explain(self, text: str | None, label: int, *, top_k: int = 5) -> Explanation:
        """Explain the score of a label for a text.

        Parameters
        ----------
        text : str or None
            The text that has, or might have, the label; None for the label alone.
        label : int
            Its id.
        top_k : int
            Training instances shown, if the model keeps them (``keep_instances=True``).
        """
        self.check_fitted()
        label = checked_label(label, self.n_labels_)
        vector = self.label_vectors_[label]
        query = vector if text is None else self.embed([text])[0]
        sources = sources_of_label(self.network_, self.label_rows_, self.added_centroids_, label)
        shares = source_shares(
            self.network_.prototypes,
            *sources[:3],
            present=sources.present,
            queries=None if text is None else torch.from_numpy(query[None]).to(sources.text),
        )[0].tolist()
        nearest = None
        if self.instances_ is not None:
            nearest = self.instances_.nearest(label, query, top_k=top_k)
        named = dict(zip(SOURCES, shares, strict=True))
        return Explanation(label, float(query @ vector), named, nearest)

    def add_labels(
        self,
        label_texts: Texts,
        examples: Sequence[Texts] | None = None,
    ) -> Self:
        """Add labels that training never saw; they can be predicted at once.

        Parameters
        ----------
        label_texts : sequence of str, or TokenRows
            Their texts. Their ids follow those of the existing labels.
        examples : sequence of lists of str, or of TokenRows, optional
            For each label a few texts that have it; an empty list for none.
        """
        self.check_fitted()
        backbone = self.network_.backbone
        label_texts = checked_texts(label_texts, "label_texts")
        centroids = example_centroids(
            examples, len(label_texts), embed=self.embed, dim=backbone.dim
        )
        if not len(label_texts):
            return self
        rows = backbone.tokenize_labels(label_texts).rows
        self.index_.add(NewLabels(rows, centroids).prototypes(self.network_))
        self.label_rows_ = joined(self.label_rows_, rows)
        self.added_centroids_ = np.concatenate([self.added_centroids_, centroids])
        return self

    def partial_fit(self, X: Texts, y: Any) -> Self:
        """Go on learning from further texts of known labels, as `update` says.

        The texts it was fitted on are not needed, and not remembered: give some of them again
        beside the new ones where nothing must be forgotten. Encoder and prototypes move by a few
        epochs at a small learning rate; the centroid of a label takes in its new texts, each
        counting as much as an old one. A label that was added becomes one like the others.

        Parameters
        ----------
        X : sequence of str, or TokenRows
        y : sparse matrix, array or list of lists (n_instances, n_labels)
            Over all labels, added ones included.
        """
        self.check_fitted()
        X = checked_texts(X, "X")
        Y = checked_labels(y, n_instances=len(X), n_labels=self.n_labels_)
        with progress.shown(self.verbose):
            rows = self.network_.backbone.tokenize(X).rows
            texts = TrainingTexts(rows, self.label_rows_, Y)
            whole = with_added_labels(self.network_, self.label_rows_, self.added_centroids_)
            network, self.history_ = update_network(whole, texts, self._config(), self.update)
            self._finish(network, texts, self.update)
        return self

    def remove_labels(self, labels: npt.ArrayLike) -> Self:
        """Forget labels; the others keep their vectors and order, and are renumbered from 0."""
        self.check_fitted()
        kept = np.ones(self.n_labels_, bool)
        kept[checked_removal(labels, self.n_labels_)] = False
        n_trained = self.n_labels_ - len(self.added_centroids_)
        self._set_learned(
            without_labels(self.network_, kept[:n_trained]),
            self.label_rows_.take(np.flatnonzero(kept)),
            np.array(self.label_vectors_)[kept],
            None if self.instances_ is None else self.instances_.with_labels(kept),
            self.added_centroids_[kept[n_trained:]],
        )
        return self

    def to_state(self) -> State:
        """Settings, label vectors with their index, and the network with its backbone."""
        self.check_fitted()
        return State(
            "prime",
            {**self.get_params(deep=False), **self.config_dicts()},
            arrays={
                "label_token_ids": self.label_rows_.ids,
                "label_token_offsets": self.label_rows_.offsets,
                "added_centroids": self.added_centroids_,
                **({} if self.instances_ is None else self.instances_.arrays()),
            },
            parts={"network": self.network_.to_state(), "index": self.index_.to_state()},
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check settings, arrays, and the network; what it has of an encoder is read later."""
        check_prime(state, cls().get_params(deep=False))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the model, on the CPU; its index is of the kind it was."""
        model, arrays = cls.from_stored(stored_settings(state.config)), state.arrays
        model.network_ = PrimeNetwork.from_state(state.parts["network"])
        model.label_rows_ = TokenRows(arrays["label_token_ids"], arrays["label_token_offsets"])
        model.added_centroids_ = np.array(arrays["added_centroids"])
        model.instances_ = KeptInstances.from_arrays(arrays)
        model._encoder = None
        model.index_ = PrototypeIndex.from_state(state.parts["index"])
        check_with_backbone(model.network_.backbone, model.label_rows_, model.index_.vectors)
        return model
