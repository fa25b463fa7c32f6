"""Where each family of encoders keeps its parts: all that the packed layers need to know of it.

Five families, one way through them. A description holds the names of a model's parts, as
``model.get_submodule`` takes them, and of its settings; nothing of a family is computed elsewhere
than in `packed_layers`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch


@dataclass(frozen=True)
class Architecture:
    """Names of the parts of an encoder; those of a layer are seen from the layer.

    Parameters
    ----------
    layers : str
        The list of layers.
    qkv : tuple of str
        Linear layers of queries, keys and values: three, or one that makes all of them.
    out, up, down : str
        Linear layers behind the attention, and of the feed-forward part.
    norm, last_norm : str
        Normalizations of a layer. Without the last one, a layer normalizes what it reads (pre-norm)
        rather than what it gives, and `first_norm` is the one before the attention.
    words, places, kinds : str
        Tables of vectors of tokens, of positions and of token types (of which the first is used).
    embedding_norm, final_norm : str
        Normalizations before the first layer and behind the last.
    activation : str
        Setting that names the activation.
    embedding_dropout, attention_dropout, out_dropout, feed_dropout : str
        Settings of the shares dropped: of the embeddings, of the attention weights, behind `out`,
        and in the feed-forward part.
    gated : bool
        Half of what `up` gives is a factor of the other half.
    after_padding : bool
        Positions are counted from the one behind the padding token's.
    relative_bias : str
        The encoder whose `compute_position_bias` is added to the scores of the attention.
    rotary : str
        The module that gives the angles by which queries and keys are turned.
    """

    layers: str
    qkv: tuple[str, ...]
    out: str
    norm: str
    up: str
    down: str
    last_norm: str = ""
    first_norm: str = ""
    words: str = "embeddings.word_embeddings"
    places: str = "embeddings.position_embeddings"
    kinds: str = ""
    embedding_norm: str = "embeddings.LayerNorm"
    final_norm: str = ""
    activation: str = "hidden_act"
    embedding_dropout: str = "hidden_dropout_prob"
    attention_dropout: str = "attention_probs_dropout_prob"
    out_dropout: str = "hidden_dropout_prob"
    feed_dropout: str = "hidden_dropout_prob"
    gated: bool = False
    after_padding: bool = False
    relative_bias: str = ""
    rotary: str = ""

    @property
    def pre_norm(self) -> bool:
        """Whether a layer normalizes what it reads."""
        return not self.last_norm


BERT = Architecture(
    layers="encoder.layer",
    qkv=("attention.self.query", "attention.self.key", "attention.self.value"),
    out="attention.output.dense",
    norm="attention.output.LayerNorm",
    up="intermediate.dense",
    down="output.dense",
    last_norm="output.LayerNorm",
    kinds="embeddings.token_type_embeddings",
)
ROBERTA = replace(BERT, after_padding=True)
MPNET = replace(
    BERT,
    qkv=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
    out="attention.attn.o",
    norm="attention.LayerNorm",
    kinds="",
    after_padding=True,
    relative_bias="encoder",
)
DISTILBERT = Architecture(
    layers="transformer.layer",
    qkv=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    out="attention.out_lin",
    norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    last_norm="output_layer_norm",
    activation="activation",
    embedding_dropout="dropout",
    attention_dropout="attention_dropout",
    out_dropout="",
    feed_dropout="dropout",
)
MODERNBERT = Architecture(
    layers="layers",
    qkv=("attn.Wqkv",),
    out="attn.Wo",
    norm="mlp_norm",
    up="mlp.Wi",
    down="mlp.Wo",
    first_norm="attn_norm",
    words="embeddings.tok_embeddings",
    places="",
    embedding_norm="embeddings.norm",
    final_norm="final_norm",
    activation="hidden_activation",
    embedding_dropout="embedding_dropout",
    attention_dropout="attention_dropout",
    out_dropout="attention_dropout",
    feed_dropout="mlp_dropout",
    gated=True,
    rotary="rotary_emb",
)
ARCHITECTURES = {
    "BertModel": BERT,
    "CamembertModel": ROBERTA,
    "DistilBertModel": DISTILBERT,
    "MPNetModel": MPNET,
    "ModernBertModel": MODERNBERT,
    "RobertaModel": ROBERTA,
    "XLMRobertaModel": ROBERTA,
}
"""By the class of transformers."""


def architecture_of(model: torch.nn.Module) -> Architecture | None:
    """The description of a model, or None if it is of another family or an unusual member."""
    found = ARCHITECTURES.get(type(model).__name__)
    if found is None:
        return None
    config: Any = model.config
    kind = getattr(config, "position_embedding_type", "absolute") or "absolute"
    usual = getattr(config, found.activation) == "gelu" and kind == "absolute"
    return found if usual and not getattr(config, "is_decoder", False) else None
