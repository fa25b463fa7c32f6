"""Tiny encoders of every family, with random weights, and texts for them."""

import numpy as np
import torch
import transformers

from multitudes.deep.texts.tokens import TokenRows

N_HEADS, SIZE, VOCABULARY, PADDING = 2, 32, 50, 1
USUAL = {
    "vocab_size": VOCABULARY,
    "hidden_size": SIZE,
    "num_attention_heads": N_HEADS,
    "num_hidden_layers": 3,
    "intermediate_size": 48,
    "max_position_embeddings": 140,
    "pad_token_id": PADDING,
    "initializer_range": 0.2,  # so that attention is not the same everywhere
}
DROPOUTS = [
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "dropout",
    "attention_dropout",
    "embedding_dropout",
    "mlp_dropout",
]
NO_DROPOUT = dict.fromkeys(DROPOUTS, 0.0)


def bert(**changes):
    return transformers.BertModel(
        transformers.BertConfig(**{**USUAL, **changes}), add_pooling_layer=False
    )


def roberta(**changes):
    config = transformers.RobertaConfig(**{**USUAL, **changes})
    return transformers.RobertaModel(config, add_pooling_layer=False)


def xlm_roberta(**changes):
    config = transformers.XLMRobertaConfig(**{**USUAL, **changes})
    return transformers.XLMRobertaModel(config, add_pooling_layer=False)


def mpnet(**changes):
    return transformers.MPNetModel(
        transformers.MPNetConfig(**{**USUAL, **changes}), add_pooling_layer=False
    )


def distilbert(**changes):
    names = {
        "hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers",
        "intermediate_size": "hidden_dim",
    }  # fmt: skip
    settings = {names.get(name, name): value for name, value in {**USUAL, **changes}.items()}
    return transformers.DistilBertModel(transformers.DistilBertConfig(**settings))


def modernbert(**changes):
    """Of three layers the first sees all of a text, the others five tokens to either side."""
    local = {"local_attention": 10, "global_attn_every_n_layers": 3}
    special = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    config = transformers.ModernBertConfig(**{**USUAL, **local, **special, **changes})
    return transformers.ModernBertModel(config)


FAMILIES = {
    "bert": bert,
    "distilbert": distilbert,
    "modernbert": modernbert,
    "mpnet": mpnet,
    "roberta": roberta,
    "xlm-roberta": xlm_roberta,
}


def small_encoder(family, random_state=0, **changes):
    """A tiny encoder of a family of `FAMILIES`, in evaluation mode; nothing is a round number."""
    torch.manual_seed(random_state)
    model = FAMILIES[family](**changes).eval()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() == 1:  # biases are made as zeros, and norms as ones
                weights.add_(0.2 * torch.randn_like(weights))
    return model


def texts_of(lengths, random_state=1):
    """Random token ids, none of them the padding."""
    rng = np.random.default_rng(random_state)
    ids = rng.integers(4, VOCABULARY, sum(lengths)).astype(np.uint16)
    return TokenRows(ids, np.concatenate([[0], np.cumsum(lengths)]))
