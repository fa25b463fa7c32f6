"""Prime: a text encoder and a prototype of each label; the nearest prototypes are the labels."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator

from multitudes import progress
from multitudes.encoder.backbone import Backbone
from multitudes.encoder.backbone_config import BackboneConfig
from multitudes.encoder.classifier import ClassifierConfig, train_classifier
from multitudes.encoder.fitting import (
    PrimeConfig,
    TrainingTexts,
    embed,
    fit_network,
    label_prototypes,
)
from multitudes.encoder.index import PrototypeIndex
from multitudes.encoder.index_config import IndexConfig
from multitudes.encoder.loading import load_backbone
from multitudes.encoder.loss_config import LossConfig
from multitudes.encoder.network import PrimeNetwork
from multitudes.encoder.network_state import network_from_state, network_state
from multitudes.encoder.prototype_config import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.encoder.tokens import TokenRows, joined
from multitudes.encoder.validation import Validation
from multitudes.errors import DataError, NotFittedError
from multitudes.linear.inputs import checked_labels
from multitudes.store import State
from multitudes.training import TrainingConfig
from multitudes.types import FloatArray, Predictions, Sparse

Texts = Sequence[str] | TokenRows


class Prime(BaseEstimator):  # type: ignore[misc]
    """A text encoder with label prototypes, trained together (PRIME).

    Instances and labels are texts. One encoder embeds both; a label's prototype also takes in the
    centroid of its instances and a free vector. Prediction is a nearest-prototype search.

    Parameters
    ----------
    backbone : BackboneConfig, optional
        The text encoder, its lengths and how it runs.
    prototypes : PrototypeConfig, optional
        What prototypes are made of.
    loss : LossConfig, optional
        Terms and margins.
    sampler : SamplerConfig, optional
        How batches are put together.
    training : TrainingConfig, optional
        Epochs, learning rate, precision, checkpoints.
    index : IndexConfig, optional
        How prototypes are searched.
    classifier : bool
        Train one vector per label on top of the frozen encoder, started from its prototype:
        PRIME (W).
    classifier_settings : ClassifierConfig, optional
        How these are trained.
    seed : int
        Same seed, same model (on a CPU).
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    network_ : PrimeNetwork
    label_vectors_ : float32 array (n_labels, d)
        What instances are compared with: prototypes, or the classifier's vectors.
    index_ : PrototypeIndex
    history_ : History
        Loss and validation metrics of each epoch.
    n_empty_, n_cut_ : int
        Training texts without a word, and longer than `max_length`.

    References
    ----------
    Dahiya, Ortego and Jiménez, Prototypical Extreme Multi-label Classification with a Dynamic
    Margin Loss, NAACL 2025.
    """

    reads_texts = True  # see `multitudes.types.TextModel`

    def __init__(
        self,
        backbone: BackboneConfig | None = None,
        prototypes: PrototypeConfig | None = None,
        loss: LossConfig | None = None,
        sampler: SamplerConfig | None = None,
        training: TrainingConfig | None = None,
        index: IndexConfig | None = None,
        classifier: bool = False,
        classifier_settings: ClassifierConfig | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.backbone = backbone
        self.prototypes = prototypes
        self.loss = loss
        self.sampler = sampler
        self.training = training
        self.index = index
        self.classifier = classifier
        self.classifier_settings = classifier_settings
        self.seed = seed
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        X: Texts,
        Y: Sparse,
        *,
        label_texts: Texts | None = None,
        validation: tuple[Texts, Sparse] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn from texts and their labels.

        Parameters
        ----------
        X : sequence of str, or TokenRows
            The texts, or their token ids.
        Y : CSR (n_instances, n_labels)
        label_texts : sequence of str, or TokenRows
            The text of each label. A label without text has its centroid and free vector alone.
        validation : (texts, Y), optional
            Instances kept aside: their P@1, P@5 and R@100 are measured after each epoch, and the
            best epoch's weights are kept.
        checkpoint : path, optional
            Folder to save to now and then; a training found there goes on where it stopped.
        """
        Y = checked_labels(Y, n_instances=len(X))
        if label_texts is None:
            raise DataError(
                "Prime needs the text of each label: pass label_texts=..., in the order of Y's "
                "columns (a label's name will do)"
            )
        if len(label_texts) != Y.shape[1]:
            raise DataError(
                f"Y has {Y.shape[1]:,} labels, but there are {len(label_texts):,} label_texts: "
                "give one for each column of Y"
            )
        with progress.shown(self.verbose):
            backbone = load_backbone(
                self.backbone or BackboneConfig(),
                texts=_all_texts(X, label_texts),
                seed=self.seed,
            )
            texts = self._tokenised(backbone, X, label_texts, Y)
            validate = None if validation is None else self._validation(backbone, texts, validation)
            network, self.history_ = fit_network(
                texts, backbone, self._config(), validate=validate, checkpoint=checkpoint
            )
            self._finish(network, texts)
        return self

    def _config(self) -> PrimeConfig:
        training = (self.training or TrainingConfig()).to_dict()
        return PrimeConfig(
            self.prototypes or PrototypeConfig(),
            self.loss or LossConfig(),
            self.sampler or SamplerConfig(),
            TrainingConfig.from_dict({**training, "seed": self.seed}),
        )

    def _tokenised(
        self, backbone: Backbone, X: Texts, label_texts: Texts, Y: Sparse
    ) -> TrainingTexts:
        self.n_empty_ = self.n_cut_ = 0
        rows = []
        limits = (backbone.config.max_length, backbone.config.label_max_length)
        for texts, max_length in zip((X, label_texts), limits, strict=True):
            if isinstance(texts, TokenRows):
                rows.append(texts.shortened(max_length))
                continue
            tokenised = backbone.tokenize(texts, max_length=max_length)
            self.n_empty_ += tokenised.n_empty
            self.n_cut_ += tokenised.n_cut
            rows.append(tokenised.rows)
        return TrainingTexts(rows[0], rows[1], Y)

    def _validation(
        self, backbone: Backbone, texts: TrainingTexts, validation: tuple[Texts, Sparse]
    ) -> Validation:
        some, Y = validation
        Y = checked_labels(Y, n_instances=len(some), n_labels=texts.Y.shape[1])
        if not isinstance(some, TokenRows):
            some = backbone.tokenize(some).rows
        return Validation(some, Y, texts.labels)

    def _finish(self, network: PrimeNetwork, texts: TrainingTexts) -> None:
        """Label vectors and their index, from a trained network."""
        self.network_ = network
        self.label_rows_ = texts.labels
        self.label_vectors_, _ = label_prototypes(network, texts.labels)
        if self.classifier:
            instances = embed(network.backbone, texts.instances, "Embedding instances")
            self.label_vectors_ = train_classifier(
                instances,
                texts.Y,
                self.label_vectors_,
                config=self.classifier_settings or ClassifierConfig(),
                seed=self.seed,
                device=network.backbone.device,
            )
        self.index_ = PrototypeIndex(self.label_vectors_, self.index or IndexConfig())

    # ------------------------------------------------------------------ prediction

    @property
    def n_labels_(self) -> int:
        """Labels that can be predicted, added ones included."""
        self._check_fitted()
        return len(self.label_vectors_)

    def embed(self, X: Texts) -> FloatArray:
        """Embeddings (n, d) of texts, of unit length."""
        self._check_fitted()
        backbone = self.network_.backbone
        rows = X if isinstance(X, TokenRows) else backbone.tokenize(X).rows
        return embed(backbone, rows.shortened(backbone.config.max_length), "Embedding texts")

    def predict(
        self, X: Texts, *, top_k: int = 5, filter_pairs: npt.ArrayLike | None = None
    ) -> Predictions:
        """The `top_k` nearest labels of each text; scores are cosines.

        `filter_pairs` (n_pairs, 2) are (row, label) pairs to leave out, for texts that are labels
        themselves.
        """
        return self.index_.search(self.embed(X), top_k=top_k, filter_pairs=filter_pairs)

    def to(self, device: str) -> Self:
        """Move to a device, e.g. "cuda"; a loaded model starts on the CPU."""
        self._check_fitted()
        self.network_.to(device)
        return self

    # ------------------------------------------------------------------ new labels

    def add_labels(
        self,
        label_texts: Texts,
        examples: Sequence[Sequence[str]] | None = None,
    ) -> Self:
        """Add labels that training never saw; they can be predicted at once.

        Parameters
        ----------
        label_texts : sequence of str, or TokenRows
            Their texts. Their ids follow those of the labels that are there.
        examples : sequence of lists of str, optional
            A few texts that have the label, for each; an empty list for none.
        """
        self._check_fitted()
        backbone = self.network_.backbone
        if examples is not None and len(examples) != len(label_texts):
            raise DataError(
                f"add_labels got {len(label_texts):,} label_texts and examples for "
                f"{len(examples):,}: give one list of examples per label, empty for none"
            )
        if not len(label_texts):
            return self
        if not isinstance(label_texts, TokenRows):
            limit = backbone.config.label_max_length
            label_texts = backbone.tokenize(label_texts, max_length=limit).rows
        texts = torch.from_numpy(embed(backbone, label_texts, "Embedding labels"))
        centroids = None if examples is None else self._centroids(examples)
        self.network_.eval()
        vectors = self.network_.new_prototypes(
            texts.to(backbone.device),
            None if centroids is None else torch.from_numpy(centroids).to(backbone.device),
        )
        added = vectors.float().cpu().numpy()
        self.label_vectors_ = np.concatenate([self.label_vectors_, added])
        self.label_rows_ = joined(self.label_rows_, label_texts)
        self.index_ = PrototypeIndex(self.label_vectors_, self.index or IndexConfig())
        return self

    def _centroids(self, examples: Sequence[Sequence[str]]) -> FloatArray:
        """Mean embeddings (m, d) of each label's examples, normalised; zero rows for none."""
        counts = np.array([len(some) for some in examples])
        means = np.zeros((len(examples), self.network_.backbone.dim), np.float32)
        if counts.sum():
            embeddings = self.embed([text for some in examples for text in some])
            np.add.at(means, np.repeat(np.arange(len(examples)), counts), embeddings)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        return np.asarray(means / np.maximum(lengths, 1e-12), np.float32)

    # ------------------------------------------------------------------ saving

    def to_state(self) -> State:
        """Settings, label vectors, and the network with its backbone."""
        self._check_fitted()
        configs = {name: getattr(self, name) for name in self.config_kinds()}
        return State(
            "prime",
            {
                **{name: c if c is None else c.to_dict() for name, c in configs.items()},
                "classifier": self.classifier,
                "seed": self.seed,
                "verbose": self.verbose,
            },
            arrays={
                "label_vectors": self.label_vectors_,
                "label_token_ids": self.label_rows_.ids,
                "label_token_offsets": self.label_rows_.offsets,
            },
            parts={"network": network_state(self.network_)},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model again, on the CPU."""
        kinds = cls.config_kinds()
        configs: dict[str, Any] = {
            name: None if state.config[name] is None else kind.from_dict(state.config[name])
            for name, kind in kinds.items()
        }
        model = cls(**configs, **{k: state.config[k] for k in ("classifier", "seed", "verbose")})
        model.network_ = network_from_state(state.parts["network"])
        model.label_vectors_ = np.asarray(state.arrays["label_vectors"])
        model.label_rows_ = TokenRows(
            state.arrays["label_token_ids"], state.arrays["label_token_offsets"]
        )
        model.index_ = PrototypeIndex(model.label_vectors_, model.index or IndexConfig())
        return model

    @staticmethod
    def config_kinds() -> dict[str, Any]:
        """Parameters that are a Config, and of which kind."""
        return {
            "backbone": BackboneConfig,
            "prototypes": PrototypeConfig,
            "loss": LossConfig,
            "sampler": SamplerConfig,
            "training": TrainingConfig,
            "index": IndexConfig,
            "classifier_settings": ClassifierConfig,
        }

    def _check_fitted(self) -> None:
        if not hasattr(self, "network_"):
            raise NotFittedError("this Prime has learned nothing yet: call fit, or load one")


def _all_texts(X: Texts, label_texts: Texts) -> list[str] | None:
    """Texts to learn a tokenizer from; none where there are only token ids."""
    if isinstance(X, TokenRows) or isinstance(label_texts, TokenRows):
        return None
    return [*X, *label_texts]
