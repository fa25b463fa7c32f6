"""A trained backbone on disk: a folder that sentence-transformers reads as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitudes.encoder.backbone.backbone_config import BackboneConfig
from multitudes.encoder.backbone.reading import quiet, read_encoder
from multitudes.store.foreign import on_disk
from multitudes.store.state import State

if TYPE_CHECKING:
    from multitudes.encoder.backbone.backbone import Backbone

KIND = "backbone"
FOLDER = "sentence-transformers"
_MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}


def write_encoder(backbone: Backbone, folder: Path) -> None:
    """Fill an empty folder so that ``SentenceTransformer(folder)`` gives the same embeddings."""
    with quiet():
        backbone.model.save_pretrained(folder)
        _write_tokenizer(backbone.tokenizer, folder)
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(_MODULES.items())
    ]
    _write_json(folder / "modules.json", modules)
    limits = {"max_seq_length": backbone.config.max_length, "do_lower_case": False}
    _write_json(folder / "sentence_bert_config.json", limits)
    pooling = {
        "word_embedding_dimension": backbone.dim,
        "pooling_mode_cls_token": backbone.config.pooling == "cls",
        "pooling_mode_mean_tokens": backbone.config.pooling != "cls",
    }
    (folder / _MODULES["Pooling"]).mkdir()
    _write_json(folder / _MODULES["Pooling"] / "config.json", pooling)


def _write_tokenizer(tokenizer: Any, folder: Path) -> None:
    """The tokenizer without the limit of its last use, which is no part of it."""
    backend = tokenizer.backend_tokenizer
    limit = backend.truncation
    backend.no_truncation()
    try:
        tokenizer.save_pretrained(folder)
    finally:
        if limit is not None:
            backend.enable_truncation(**limit)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def backbone_state(backbone: Backbone) -> State:
    """Settings, and the encoder as a folder of foreign files."""
    return State(
        KIND,
        backbone.config.to_dict(),
        folders={FOLDER: lambda folder: write_encoder(backbone, folder)},
    )


def read_backbone_folder(state: State) -> tuple[Any, Any, BackboneConfig]:
    """Model, tokenizer and settings of a saved backbone."""
    config = BackboneConfig.from_dict(state.config)
    with on_disk(state.folders[FOLDER]) as folder:
        model, tokenizer, _ = read_encoder(folder)
    return model, tokenizer, config
