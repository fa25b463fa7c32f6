"""OTSeq2Set: generates the set of labels of a text, its size included."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self, get_args

import numpy as np
import torch

from multitudes import progress
from multitudes.deep.devices import choose_device
from multitudes.deep.processor import checked_precision
from multitudes.deep.texts.inputs import checked_label_texts, checked_validation
from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.training import TrainingConfig
from multitudes.deep.training.config import stored_settings
from multitudes.errors import ConfigError
from multitudes.estimator import Estimator
from multitudes.features.text_buffer import as_texts
from multitudes.progress import say, spelled
from multitudes.seq2set.fitting import FitConfig, Seq2SetTraining, TrainingTexts, fit_network
from multitudes.seq2set.generation.generate import DecodingConfig
from multitudes.seq2set.generation.prediction import Predictor, Validation
from multitudes.seq2set.losses.assignment_schemes import choose_scheme
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.network.seq_network import (
    SeqNetwork,
    check_network,
    network_from_state,
    network_state,
)
from multitudes.seq2set.targets import TargetRows, enough_steps, target_rows
from multitudes.seq2set.training_step import Objective
from multitudes.seq2set.words.batches import BatchConfig
from multitudes.seq2set.words.start_vectors import start_vectors
from multitudes.seq2set.words.vocabulary import N_SPECIAL, WordsConfig, WordVocabulary
from multitudes.store import State, checks
from multitudes.types import Predictions, Sparse
from multitudes.validation import checked_count, checked_labels

ORDERS = ("id", "frequent")
CONFIGS: dict[str, Any] = {
    "words": WordsConfig,
    "network": NetworkConfig,
    "loss": SetLossConfig,
    "batches": BatchConfig,
    "decoding": DecodingConfig,
    "training": Seq2SetTraining,
}
PLAIN = ("objective", "order", "random_state", "verbose")


class OTSeq2Set(Estimator):
    """Generates label sets, trained with matching and optimal transport (OTSeq2Set).

    A recurrent encoder reads the words of a text; a recurrent decoder names one label after the
    other, or none. The baselines it is compared with (Seq2Seq, MLC2Seq, SGM) are other settings
    of the same: see `multitudes.seq2set.presets`.

    Parameters
    ----------
    words : WordsConfig
        Vocabulary, length of texts, word vectors.
    network : NetworkConfig
        Sizes, convolution, bottleneck, compilation.
    loss : SetLossConfig
        Matching and transport, for the objective "set".
    batches : BatchConfig
        Sizes of batches.
    decoding : DecodingConfig
        How labels are generated; may be changed after `fit`.
    training : Seq2SetTraining
        Epochs, learning rate, precision, checkpoints: a `TrainingConfig` with the paper's defaults.
        Its `random_state` is the one below.
    objective : "set" or "sequence"
        Learn the set in whatever order suits, with its own labels fed while training, or a
        sequence in a given order with an end symbol, with the true labels fed.
    order : "id" or "frequent"
        Of sequences: by label id, or from frequent to rare labels.
    random_state : int
        Same seed, same model (on a CPU).
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    network_ : SeqNetwork
    vocabulary_ : WordVocabulary
        Of the training texts.
    n_steps_ : int
        Labels a set has at most: ``network.n_steps``, or as many as nearly all training texts
        have (``network.steps_share``).
    scheme_ : SchemeChoice
        Which steps labels were matched to, and why. A model that was loaded has neither this
        attribute nor those below, which describe `fit`.
    history_ : History
        Loss and validation metrics of each epoch.
    n_empty_, n_cut_ : int
        Training texts without a word (they are read as one unknown word), and longer than
        `max_length` (their beginning is read).
    n_labels_cut_ : int
        Training instances with more labels than `n_steps_`; the first of them were learned.
    n_words_found_, n_labels_found_ : int
        Words with a vector in the file, and labels that started from their words' vectors.

    References
    ----------
    Cao and Zhang, OTSeq2Set: An Optimal Transport Enhanced Sequence-to-Set Model for Extreme
    Multi-label Text Classification, EMNLP 2022.
    """

    reads_texts: ClassVar[bool] = True
    needs_label_texts: ClassVar[bool] = False
    trains_in_epochs: ClassVar[bool] = True
    fitted_attribute: ClassVar[str] = "network_"

    def __init__(
        self,
        *,
        words: WordsConfig = WordsConfig(),
        network: NetworkConfig = NetworkConfig(),
        loss: SetLossConfig = SetLossConfig(),
        batches: BatchConfig = BatchConfig(),
        decoding: DecodingConfig = DecodingConfig(),
        training: Seq2SetTraining = Seq2SetTraining(),
        objective: Objective = "set",
        order: str = "id",
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.words = words
        self.network = network
        self.loss = loss
        self.batches = batches
        self.decoding = decoding
        self.training = training
        self.objective = objective
        self.order = order
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        X: Sequence[str],
        y: Sparse,
        *,
        label_texts: Sequence[str] | None = None,
        validation: tuple[Sequence[str], Sparse] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Learn from texts and their labels.

        Parameters
        ----------
        X : sequence of str
        y : CSR or array (n_instances, n_labels)
            An instance may have no label: its set is empty.
        label_texts : sequence of str, optional
            The text of each label, whose words' vectors its embedding starts from.
        validation : (texts, Y), optional
            Instances kept aside: their micro-F1 is measured after each epoch, and the best epoch's
            weights are kept.
        checkpoint : path, optional
            Folder to save to now and then; a training found there goes on where it stopped.
        """
        config = self._config()
        X = as_texts(X)
        Y = checked_labels(y, n_instances=len(X))
        if label_texts is not None:
            label_texts = checked_label_texts(label_texts, Y)
        with progress.shown(self.verbose):
            vocabulary = WordVocabulary.of_texts(
                X,
                max_words=config.words.max_words,
                min_count=config.words.min_count,
                lowercase=config.words.lowercase,
            )
            say(f"encoder: recurrent, {len(vocabulary.words):,} words{self._vectors(config)}")
            targets = self._targets(Y, config)
            config = self._settled(Y, targets.n_steps - self._ends, config)
            network = self._network(vocabulary, targets, Y.shape[1], label_texts, config)
            tokenized = vocabulary.rows(X, max_length=config.words.max_length)
            self.n_empty_, self.n_cut_ = tokenized.n_empty, tokenized.n_cut
            predictor = self._predictor(network, config)
            validate = None
            if validation is not None:
                validate = self._validation(vocabulary, predictor, validation, config)
            texts = TrainingTexts(tokenized.rows, targets)
            self.history_ = fit_network(
                network, texts, config, validate=validate, checkpoint=checkpoint
            )
        self.network_, self.vocabulary_ = network, vocabulary
        self.n_steps_ = targets.n_steps - self._ends
        return self

    @staticmethod
    def _vectors(config: FitConfig) -> str:
        vectors = config.words.vectors
        return ", which it learns" if vectors is None else f", vectors from {vectors}"

    @property
    def _ends(self) -> bool:
        return self.objective == "sequence"

    def _config(self) -> FitConfig:
        if self.objective not in get_args(Objective):
            raise ConfigError(
                f"objective must be one of {list(get_args(Objective))}, got {self.objective!r}"
            )
        if self.order not in ORDERS:
            raise ConfigError(f"order must be one of {list(ORDERS)}, got {self.order!r}")
        if not isinstance(self.training, TrainingConfig):
            raise ConfigError(f"training must be a Seq2SetTraining, got {self.training!r}")
        return FitConfig(
            words=self.words,
            network=self.network,
            loss=self.loss,
            batches=self.batches,
            decoding=self.decoding,
            training=self.training.with_random_state(self.random_state),
            objective=self.objective,
            order=self.order,
        )

    def _targets(self, Y: Sparse, config: FitConfig) -> TargetRows:
        counts, given = np.diff(Y.indptr), config.network.n_steps
        n_steps = given or enough_steps(counts, config.network.steps_share)
        targets = target_rows(Y, order=self.order, ends=self._ends, n_steps=n_steps)
        self.n_labels_cut_ = targets.n_cut
        say(f"labels of a text: {counts.mean():.1f} on average; {n_steps} are generated at most")
        if targets.n_cut:
            largest = int(counts.max())
            cut = (
                f"{targets.n_cut:,} of {len(counts):,} training texts have more than {n_steps} "
                f"labels (up to {largest:,}): the first {n_steps} of each are learned, and "
                f"{targets.n_labels_cut:,} labels of texts are not"
            )
            more = spelled("network.n_steps", largest)
            if given is None:  # chosen so that few are cut: worth a remark, not a warning
                say(f"{cut}; {more} learns all, and takes {largest / n_steps:.0f} times as long")
            else:
                warnings.warn(f"{cut}; {more} learns all", stacklevel=3)
        return targets

    def _settled(self, Y: Sparse, n_steps: int, config: FitConfig) -> FitConfig:
        """With a scheme instead of "auto"."""
        counts = np.minimum(np.diff(Y.indptr), n_steps)
        self.scheme_ = choose_scheme(counts, scheme=config.loss.scheme)
        if self.objective == "set":
            say(self.scheme_.reason)
        return replace(config, loss=replace(config.loss, scheme=self.scheme_.scheme))

    def _network(
        self,
        vocabulary: WordVocabulary,
        targets: TargetRows,
        n_labels: int,
        label_texts: Sequence[str] | None,
        config: FitConfig,
    ) -> SeqNetwork:
        start = start_vectors(
            vocabulary,
            label_texts,
            n_labels=n_labels,
            config=config.words,
            random_state=self.random_state,
        )
        self.n_words_found_, self.n_labels_found_ = start.n_words_found, start.n_labels_found
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            return SeqNetwork(
                start,
                n_steps=targets.n_steps,
                config=config.network,
                frozen_words=config.words.frozen,
            )

    def _validation(
        self,
        vocabulary: WordVocabulary,
        predictor: Predictor,
        validation: tuple[Sequence[str], Sparse],
        config: FitConfig,
    ) -> Validation:
        texts, Y = checked_validation(validation, n_labels=predictor.network.n_labels)
        rows = vocabulary.rows(texts, max_length=config.words.max_length).rows
        return Validation(predictor, rows, Y)

    def _predictor(self, network: SeqNetwork, config: FitConfig) -> Predictor:
        return Predictor(network, config.decoding, config.batches, ends=self._ends)

    # ------------------------------------------------------------------ prediction

    @property
    def n_labels_(self) -> int:
        """Labels that can be predicted."""
        self.check_fitted()
        return self.network_.n_labels

    def predict_sets(self, X: Sequence[str]) -> Predictions:
        """The set of labels of each text: as many as were generated, likeliest first.

        A row holds -1 behind its labels. Scores are the probabilities that labels were generated
        with; a label generated twice has the higher one.
        """
        return self._fitted_predictor().sets(self._rows(X))

    def predict(self, X: Sequence[str], *, top_k: int = 5) -> Predictions:
        """The `top_k` labels of each text with the highest probability at any step.

        Unlike a set, these go beyond the labels that were generated.
        """
        predictor = self._fitted_predictor()
        return predictor.best(self._rows(X), top_k=checked_count(top_k, "top_k"))

    def to(self, device: str | None = None, *, precision: str | None = None) -> Self:
        """Predict on a device, e.g. "cuda"; a loaded model starts on the CPU.

        The number format is always float32: `precision` may be "auto" or "float32".
        """
        self.check_fitted()
        if precision is not None and checked_precision(precision) in ("bf16", "int8"):
            raise ConfigError(
                f"OTSeq2Set predicts in float32 alone, got precision {precision!r}: "
                "leave the precision out"
            )
        if device is not None:
            self.network_.to(choose_device(device))
        return self

    def _rows(self, X: Sequence[str]) -> TokenRows:
        return self.vocabulary_.rows(X, max_length=self.words.max_length).rows

    def _fitted_predictor(self) -> Predictor:
        self.check_fitted()
        return self._predictor(self.network_, self._config())

    # ------------------------------------------------------------------ saving

    def to_state(self) -> State:
        """Settings, vocabulary and weights."""
        self.check_fitted()
        return State(
            "otseq2set",
            {
                **self.config_dicts(),
                **{name: getattr(self, name) for name in PLAIN},
                "lowercase": self.vocabulary_.lowercase,
            },
            strings={"words": self.vocabulary_.words},
            parts={"network": network_state(self.network_)},
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check settings, words and the weights of the network."""
        checks.names(
            state, config=(*CONFIGS, *PLAIN, "lowercase"), strings=("words",), parts=("network",)
        )
        configs = {
            name: checks.settings(kind, state.config[name], name) for name, kind in CONFIGS.items()
        }
        cls(**configs, **{name: state.config[name] for name in PLAIN})._config()
        checks.flag(state, "lowercase")
        checks.distinct(state.strings["words"], "words")
        check_network(state.parts["network"], n_words=len(state.strings["words"]) + N_SPECIAL)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model again, on the CPU."""
        stored = stored_settings(state.config)
        configs = {name: kind.from_dict(stored[name]) for name, kind in CONFIGS.items()}
        model = cls(**configs, **{name: state.config[name] for name in PLAIN})
        model.vocabulary_ = WordVocabulary(tuple(state.strings["words"]), state.config["lowercase"])
        model.network_ = network_from_state(state.parts["network"])
        model.n_steps_ = model.network_.decoder.n_steps - model._ends
        return model
