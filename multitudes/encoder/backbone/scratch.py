"""A small encoder from nothing: a tokenizer learned from the texts, a BERT with random weights.

For tests, the demo and machines without any encoder. It knows no language before it is trained,
so expect less of it than of a pretrained one unless there are many texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from multitudes.encoder.backbone.backbone_config import BackboneConfig
from multitudes.errors import ConfigError

SPECIAL_TOKENS = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
HEAD_SIZE = 32


def scratch_tokenizer(texts: Iterable[str], *, vocabulary_size: int) -> Any:
    """A byte-pair tokenizer learned from texts, lower-cased, as a transformers tokenizer.

    Byte pairs rather than WordPiece: the library's WordPiece training numbers its pieces by chance,
    byte pairs come out the same from the same texts. And no character is unknown to bytes.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    wrap: Any = PreTrainedTokenizerFast  # has no types
    backend = Tokenizer(models.BPE())
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    words, letters = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.ByteLevel(use_regex=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([words, letters])
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=list(SPECIAL_TOKENS.values()),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer=trainer)
    ends = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return wrap(tokenizer_object=backend, **SPECIAL_TOKENS)


def scratch_model(config: BackboneConfig, *, vocabulary_size: int, random_state: int) -> Any:
    """A BERT of the size in the settings, with weights drawn from `random_state`."""
    import torch
    from transformers import BertConfig, BertModel

    build: Any = BertModel  # has no types
    dim = config.scratch_dim
    if dim % HEAD_SIZE:
        raise ConfigError(f"scratch_dim must be a multiple of {HEAD_SIZE}, got {dim}")
    shape = BertConfig(
        vocab_size=vocabulary_size,
        hidden_size=dim,
        num_hidden_layers=config.scratch_layers,
        num_attention_heads=dim // HEAD_SIZE,
        intermediate_size=4 * dim,
        max_position_embeddings=max(config.max_length, config.label_max_length, 64),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        return build(shape)
