"""Embeddings of a text encoder as features, for models over X."""

from __future__ import annotations

import dataclasses
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import scipy.sparse as sp

from multitudes.deep.devices import Precision, choose_device
from multitudes.deep.processor import checked_precision
from multitudes.encoder.backbone.embedding import PredictionEncoder, embed
from multitudes.encoder.backbone.loading import check_lengths, load_backbone
from multitudes.encoder.backbone.model import Backbone, BackboneConfig
from multitudes.errors import ConfigError, NotFittedError, StoreError
from multitudes.features.text_buffer import as_texts
from multitudes.scikit_learn import BaseEstimator, TransformerMixin
from multitudes.store import State, build, checks, read_manifest, read_state
from multitudes.store.manifest import MANIFEST

KIND = "encoder-features"


class EncoderFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts as embeddings of length 1, by an encoder that is not trained any further.

    Joined with TF-IDF by `ConcatFeatures`, they tell trees what words alone do not say.

    Parameters
    ----------
    encoder : str or path
        Folder of a saved model with one encoder inside (`Prime`, or a `Tagger` of it), folder or
        name of a sentence-transformers or transformers encoder, or "minilm". It is saved with the
        features, so it is only needed for fitting.
    max_length : int, optional
        Tokens kept of a text; None for as many as in the encoder's own training, and 32 for
        one that was not trained here.
    device : str
        Where to encode; auto is the GPU if there is one.

    Attributes
    ----------
    backbone_ : Backbone
    n_features_ : int
    """

    _precision: Precision | Literal["int8"] | None = None  # set by `to`
    _int8: PredictionEncoder | None = None

    def __init__(
        self,
        encoder: str | PathLike[str] = "minilm",
        *,
        max_length: int | None = None,
        device: str = "auto",
    ) -> None:
        self.encoder = encoder
        self.max_length = max_length
        self.device = device

    def fit(self, data: Any, y: object = None) -> Self:
        """Load the encoder; nothing is learned from the texts."""
        as_texts(data)
        backbone = find_backbone(self.encoder, max_length=self.max_length)
        return self._set(backbone).to(self.device)

    def transform(self, data: Any) -> sp.csr_array[Any]:
        """Embeddings of texts.

        Returns
        -------
        CSR (n_instances, n_features), float32, indices sorted
        """
        self._check_fitted()
        texts = as_texts(data)
        if not len(texts):
            return sp.csr_array(np.empty((0, self.n_features_), np.float32))
        rows = self.backbone_.tokenize(list(texts)).rows
        if self._precision == "int8":
            if self._int8 is None:
                self._int8 = PredictionEncoder(self.backbone_, "int8")
            return sp.csr_array(self._int8(rows, "Embedding texts"))
        return sp.csr_array(
            embed(self.backbone_, rows, "Embedding texts", precision=self._precision)
        )

    @property
    def feature_names(self) -> list[str]:
        """``encoder:0`` and so on: dimensions of an embedding have no names."""
        self._check_fitted()
        return [f"encoder:{i}" for i in range(self.n_features_)]

    def to(self, device: str | None = None, *, precision: str | None = None) -> Self:
        """Encode on a device, e.g. "cuda", or in a number format: "float32", "bf16" or "int8".

        Loaded features start on the CPU. "auto" is float32 there and bf16 on a GPU, as in training.
        What is not given stays as it is.
        """
        self._check_fitted()
        if precision is not None:
            formats: dict[str, Any] = {"auto": None}
            self._precision = formats.get(checked_precision(precision), precision)
            self._int8 = None
        if device is not None:
            self.backbone_.to(choose_device(device))
            self._int8 = None
        return self

    def to_state(self) -> State:
        """Settings, and the encoder itself."""
        self._check_fitted()
        config = {**self.get_params(), "encoder": str(self.encoder)}
        return State(KIND, config, parts={"backbone": self.backbone_.to_state()})

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the settings; the encoder is a part."""
        checks.names(state, config=("encoder", "max_length", "device"), parts=("backbone",))
        checks.part(state, "backbone", "backbone")
        checks.count(state, "max_length", none=True)
        for name in ("encoder", "device"):
            if not isinstance(state.config[name], str):
                raise StoreError(f"{name} must be a name, got {state.config[name]!r}")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the features, on the CPU."""
        return cls(**state.config)._set(Backbone.from_state(state.parts["backbone"]))

    def _set(self, backbone: Backbone) -> Self:
        self.backbone_, self.n_features_ = backbone.eval(), backbone.dim
        return self

    def _check_fitted(self) -> None:
        if not hasattr(self, "backbone_"):
            raise NotFittedError("these EncoderFeatures have no encoder yet: call fit first")


def find_backbone(source: str | PathLike[str], *, max_length: int | None = None) -> Backbone:
    """Return the encoder inside a saved model, or the one that a folder or name stands for."""
    name = str(source)
    changes: dict[str, Any] = {} if max_length is None else {"max_length": max_length}
    if name == "scratch":
        raise ConfigError(
            "an encoder from scratch knows nothing before it is trained: train a prime model with "
            "backbone.name=scratch first and give its folder, or use 'minilm'"
        )
    folder = Path(name).expanduser()
    if not (folder / MANIFEST).is_file():
        return load_backbone(BackboneConfig(name=name, **changes))
    places = [at for at, part in read_manifest(folder).root.walk() if part.kind == "backbone"]
    if len(places) != 1:
        held = "no text encoder" if not places else f"{len(places)} text encoders"
        raise StoreError(
            f"{folder} holds {held}, expected one: give a model that was trained as prime or one "
            "of its kin"
        )
    state = read_state(folder)
    for name in filter(None, places[0].split("/")):
        state = state.parts[name]
    backbone: Any = build(state)
    backbone.config = dataclasses.replace(backbone.config, **changes)
    check_lengths(backbone.config, backbone.model, backbone.tokenizer)
    return cast(Backbone, backbone)
