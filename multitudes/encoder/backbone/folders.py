"""Encoders as folders of transformers or sentence-transformers; reading runs no foreign code."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from multitudes.errors import ConfigError, require

_MODULES = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
_CHAIN = list(_MODULES)

_MADE_ONE_BY_ONE = ("layer", "block", "expert")  # in names of settings that count parts of a model
SPARE_WEIGHTS = 1_000_000  # that a model may have beside those in its files: a pooling of its own

# Which pooling an old folder switches on, and what newer folders call it.
PROMPTS = "config_sentence_transformers.json"
QUERY_PROMPTS = ("query",)  # names of prompts, the first that is there is taken
LABEL_PROMPTS = ("document", "passage", "corpus")
_LONGEST_NAME = 255  # bytes of a file's name that systems take
_POOLING_FLAGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


class Wishes(NamedTuple):
    """What a sentence-transformers folder asks for beside its transformer."""

    pooling: str | None = None
    query_prompt: str = ""  # before the text of an instance
    label_prompt: str = ""  # before the text of a label


def read_encoder(folder: Path) -> tuple[Any, Any, Wishes]:
    """The model in float32, its tokenizer, and the pooling and prompts that the folder asks for.

    Raises
    ------
    ConfigError
        If there is no encoder in the folder, or one that does not end in a pooling of its tokens.
    """
    require("transformers", extra="deep")
    from safetensors import SafetensorError

    home, pooling = _layout(folder)
    if not (home / "config.json").is_file():
        raise ConfigError(f"{folder} holds no encoder: there is no {home / 'config.json'}")
    if not any(home.glob("*.safetensors")):
        raise ConfigError(
            f"{folder} has no weights in the safetensors format, the only one that is read "
            "(others can run code): save the model again with save_pretrained of transformers"
        )
    _check_shards(home)
    try:
        check_size(home)
        model, tokenizer = _read_transformer(home)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise ConfigError(
            f"transformers cannot read the encoder in {folder}: {_first_line(error)}"
        ) from error
    _check(model, tokenizer, folder)
    return model, tokenizer, Wishes(pooling, *_prompts(folder))


def _prompts(folder: Path) -> tuple[str, str]:
    """The prompts of instances and labels that a sentence-transformers folder names."""
    path = folder / PROMPTS
    config = _json(path) if path.is_file() else {}
    prompts = (config.get("prompts") or {}) if isinstance(config, dict) else {}
    if not isinstance(prompts, dict) or not all(
        isinstance(text, str | None) for text in prompts.values()
    ):
        raise ConfigError(f"{path}: prompts must be texts by name, got {str(prompts)[:200]}")
    usual = prompts.get(config.get("default_prompt_name") or "") or ""

    def first_of(names: tuple[str, ...]) -> str:
        return next((prompts[name] for name in names if prompts.get(name)), usual)

    return first_of(QUERY_PROMPTS), first_of(LABEL_PROMPTS)


def _layout(folder: Path) -> tuple[Path, str | None]:
    """Where the transformer is in the folder, and the folder's pooling."""
    if not (folder / "modules.json").is_file():
        return folder, None
    listed = _json(folder / "modules.json")
    try:
        modules = [
            (str(entry["type"]).rpartition(".")[2], _inside(folder, entry["path"]))
            for entry in listed
        ]
    except (LookupError, TypeError) as error:
        raise ConfigError(f"{folder / 'modules.json'} lists no modules: {error!r}") from error
    kinds = [kind for kind, _ in modules]
    if not kinds or kinds != _CHAIN[: len(kinds)]:
        raise ConfigError(
            f"{folder} chains {' > '.join(kinds)}, expected {' > '.join(_CHAIN)}: "
            "choose another encoder, or give the folder of the transformer alone"
        )
    pooling = _pooling(modules[1][1] / "config.json") if len(modules) > 1 else None
    return modules[0][1], pooling


def _inside(folder: Path, name: object) -> Path:
    """Return a path below a folder that a file names; refuse one that leads out of it."""
    parts = name.split("/") if isinstance(name, str) else [".."]
    odd = any(part == ".." or "\\" in part or ":" in part or "\0" in part for part in parts)
    odd |= any(len(part.encode(errors="replace")) > _LONGEST_NAME for part in parts)
    if odd or (parts[0] == "" and len(parts) > 1):
        raise ConfigError(f"{folder} names {str(name)[:200]!r}, which is not a path inside it")
    return folder / str(name)


def _check_shards(home: Path) -> None:
    """Refuse lists of weights that name files elsewhere; transformers would read them."""
    for path in home.glob("*.index.json"):
        shards = _json(path)
        shards = shards.get("weight_map") if isinstance(shards, dict) else None
        if not isinstance(shards, dict):
            raise ConfigError(f"{path} does not say where weights are: it has no weight_map")
        for name in shards.values():
            _inside(home, name)


def _pooling(path: Path) -> str:
    config = _json(path)
    flags = [mode for flag, mode in _POOLING_FLAGS.items() if config.get(flag)]
    modes = config.get("pooling_mode") or flags
    if config.get("include_prompt") is False:
        raise ConfigError(
            f"{path} leaves the tokens of the prompt out of the pooling, which is not offered: "
            "choose another encoder, or give the folder of the transformer alone"
        )
    return modes if isinstance(modes, str) else "+".join(modes)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _read_transformer(home: Path) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModel, AutoTokenizer

    options = {"local_files_only": True, "trust_remote_code": False}
    with quiet():
        # Always float32: weights may be stored in float16, but they are trained in float32.
        model, report = AutoModel.from_pretrained(
            home, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options
        )
        tokenizer = AutoTokenizer.from_pretrained(home, **options)
    missing = [name for name in report["missing_keys"] if not name.startswith("pooler.")]
    if missing:
        raise ValueError(f"{len(missing)} of its weights are missing, e.g. {min(missing)}")
    if _lowers_case(home / "sentence_bert_config.json"):
        _lower_case(tokenizer.backend_tokenizer)
    return model, tokenizer


def check_size(home: Path) -> None:
    """Refuse a config.json that asks for more than the weights beside it, before it is given.

    The model is made without memory first. Names of weights differ from one version of a model
    to the next, so it is their number that is compared.
    """
    import torch
    from safetensors import safe_open
    from transformers import AutoConfig, AutoModel

    n_stored = n_arrays = 0
    for path in home.glob("*.safetensors"):
        with safe_open(path, "np") as file:
            shapes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
        n_arrays += len(shapes)
        n_stored += sum(math.prod(shape) for shape in shapes)
    config = AutoConfig.from_pretrained(home, local_files_only=True, trust_remote_code=False)
    for name, value in config.to_dict().items():
        is_count = isinstance(value, int) and any(word in name for word in _MADE_ONE_BY_ONE)
        if is_count and value > n_arrays:
            raise ValueError(f"{name} is {value}, and there are {n_arrays} arrays of weights")
    make: Any = AutoModel  # has no types
    with quiet(), torch.device("meta"):
        model = make.from_config(config, trust_remote_code=False)
    n_wanted = sum(weight.numel() for weight in model.state_dict().values())
    if n_wanted > 2 * n_stored + SPARE_WEIGHTS:
        raise ValueError(f"its config.json asks for {n_wanted} weights, and there are {n_stored}")


def _lowers_case(path: Path) -> bool:
    """Whether sentence-transformers lowers the case of a text before this encoder reads it."""
    return path.is_file() and bool(_json(path).get("do_lower_case"))


def _lower_case(backend: Any) -> None:
    from tokenizers import normalizers

    steps = [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer else [])]
    backend.normalizer = normalizers.Sequence(steps)


def _check(model: Any, tokenizer: Any, folder: Path) -> None:
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigError(
            f"the tokenizer in {folder} has no fast form (tokenizer.json): "
            "convert it with transformers, or choose another encoder"
        )
    if tokenizer.pad_token_id is None:
        raise ConfigError(f"the tokenizer in {folder} has no padding token: choose another encoder")
    if tokenizer.backend_tokenizer.num_special_tokens_to_add(is_pair=False) == 0:
        raise ConfigError(
            f"the tokenizer in {folder} puts no special token around a text, so an empty one would "
            "have no token at all: choose an encoder, not a decoder"
        )
    largest = max(tokenizer.get_vocab().values(), default=0)
    n_tokens = int(model.get_input_embeddings().weight.shape[0])
    if largest >= n_tokens:
        raise ConfigError(
            f"the tokenizer in {folder} has a token {largest}, and the model knows {n_tokens}: "
            "they belong to different encoders"
        )
    if getattr(model.config, "is_encoder_decoder", False):
        raise ConfigError(f"{folder} holds an encoder-decoder, expected an encoder alone")


def write_encoder(
    model: Any, tokenizer: Any, folder: Path, *, max_length: int, wishes: Wishes
) -> None:
    """Fill an empty folder so that ``SentenceTransformer(folder)`` gives the same embeddings."""
    with quiet():
        model.save_pretrained(folder)
        _write_tokenizer(tokenizer, folder)
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(_MODULES.items())
    ]
    _write_json(folder / "modules.json", modules)
    limits = {"max_seq_length": max_length, "do_lower_case": False}
    _write_json(folder / "sentence_bert_config.json", limits)
    flags = {
        "word_embedding_dimension": int(model.config.hidden_size),
        "pooling_mode_cls_token": wishes.pooling == "cls",
        "pooling_mode_mean_tokens": wishes.pooling not in ("cls", "lasttoken"),
        "pooling_mode_lasttoken": wishes.pooling == "lasttoken",
    }
    (folder / _MODULES["Pooling"]).mkdir()
    _write_json(folder / _MODULES["Pooling"] / "config.json", flags)
    if wishes.query_prompt or wishes.label_prompt:
        prompts = {QUERY_PROMPTS[0]: wishes.query_prompt, LABEL_PROMPTS[0]: wishes.label_prompt}
        # By default a text is read as an instance, as we do.
        usual = {"prompts": prompts, "default_prompt_name": QUERY_PROMPTS[0]}
        _write_json(folder / PROMPTS, usual)


def _write_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write the tokenizer without the limit of its last use, which is not part of it."""
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


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the progress bars and reports that transformers prints."""
    from transformers.utils import logging

    theirs: Any = logging  # has no types
    bars, level = theirs.is_progress_bar_enabled(), theirs.get_verbosity()
    theirs.disable_progress_bar()
    theirs.set_verbosity_error()
    try:
        yield
    finally:
        theirs.set_verbosity(level)
        if bars:
            theirs.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
