"""Features by name: "tfidf", "hashing", "encoder:FOLDER", or several with commas between."""

from __future__ import annotations

from typing import Any

from multitudes.errors import ConfigError, suggestion
from multitudes.features import ConcatFeatures, HashingFeatures, TfidfFeatures
from multitudes.tagger.presets import PRESETS

ENCODER = "encoder"
KINDS = {"tfidf": TfidfFeatures, "hashing": HashingFeatures}


def named_features(names: str) -> Any:
    """Unfitted features of the names; several are put side by side.

    ``encoder:`` is followed by a saved model that has a text encoder (`Prime`), or by a folder or
    name of sentence-transformers; its embeddings of the texts are the features.
    """
    blocks = [_block(name.strip()) for name in names.split(",")]
    return blocks[0] if len(blocks) == 1 else ConcatFeatures(blocks)


def _block(name: str) -> Any:
    kind, separator, source = name.partition(":")
    if kind == ENCODER:
        if not source:
            raise ConfigError(
                f"the features {name!r} name no encoder: write encoder:FOLDER, the folder of a "
                "saved model or of sentence-transformers, or encoder:minilm"
            )
        from multitudes.encoder.features import EncoderFeatures

        return EncoderFeatures(source)
    if name in PRESETS and PRESETS[name].reads == "texts":
        raise ConfigError(
            f"features of {name!r} come from a model that is trained already: train one first, "
            f"and write encoder:FOLDER with its folder"
        )
    if kind not in KINDS or separator:
        known = [*KINDS, f"{ENCODER}:FOLDER"]
        raise ConfigError(f"there are no features {name!r}: {suggestion(name, known)}")
    return KINDS[kind]()
