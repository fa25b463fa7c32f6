"""Token ids kept on disk between runs, memory-mapped when they are used again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from multitudes.deep.texts.tokenizing import Tokenized, id_type, tokenize
from multitudes.deep.texts.tokens import TokenRows
from multitudes.errors import StoreError
from multitudes.features.text_buffer import as_texts, not_a_text
from multitudes.files import disk
from multitudes.files.cache import cache_folder
from multitudes.files.lease import HeldError
from multitudes.files.writing import replaced_file
from multitudes.store.files import dump_arrays, map_arrays

VARIABLE = "MULTITUDES_TOKEN_CACHE"
FOLDER = "tokens"
WORTHWHILE = 10_000  # texts; fewer are tokenized in about the time that a file takes
LARGEST = 4 * 2**30  # bytes of all files together; those not used for longest go first
_VERSION = "tokens-2"  # part of the fingerprint: a change of the way texts are cut changes it


def token_cache(
    folder: str | os.PathLike[str], texts: Sequence[str], tokenizer: Any, max_length: int
) -> Tokenized:
    """Return token ids of texts: from the folder if they are there, else made and kept there.

    Parameters
    ----------
    folder : path
        Created if needed. One file in it belongs to one tokenizer, one `max_length` and one
        sequence of texts, and is named after their fingerprint; anything else makes a new file.
    texts : sequence of str
    tokenizer : transformers.PreTrainedTokenizerFast
    max_length : int

    Returns
    -------
    Tokenized
        Its arrays are read-only memory maps.
    """
    texts = as_texts(texts)
    path = Path(folder) / f"{fingerprint(texts, tokenizer, max_length)}.safetensors"
    found = _read(path, len(texts), tokenizer)
    if found is not None:
        return found
    _write(path, tokenize(texts, tokenizer, max_length=max_length))
    written = _read(path, len(texts), tokenizer)
    if written is None:
        raise StoreError(f"{path} changed while it was written: give each run a folder of its own")
    return written


def kept_tokens(texts: Sequence[str], tokenizer: Any, *, max_length: int) -> Tokenized:
    """Token ids of texts, as `tokenize` gives them; those of many texts are kept for the next time.

    They lie in the user's cache folder, 4 GiB at most. Where nothing can be written there, or
    another process is writing the same, they are only made. ``MULTITUDES_TOKEN_CACHE=off`` keeps
    nothing and reads nothing.
    """
    folder = cache_folder()
    if folder is None or len(texts) < WORTHWHILE or os.environ.get(VARIABLE) == "off":
        return tokenize(texts, tokenizer, max_length=max_length)
    path = folder / FOLDER / f"{fingerprint(texts, tokenizer, max_length)}.safetensors"
    found = _read(path, len(texts), tokenizer)
    if found is not None:
        with suppress(OSError):
            path.touch()  # the time of its last use
        return found
    made = tokenize(texts, tokenizer, max_length=max_length)
    with suppress(StoreError, OSError):
        _write(path, made)
        _remove_oldest(path.parent)
    return made


def _remove_oldest(folder: Path) -> None:
    """Remove what was not used for longest, until the rest is within the limit."""
    files = [(file.stat(), file) for file in folder.glob("*.safetensors")]
    total = sum(facts.st_size for facts, _ in files)
    for facts, file in sorted(files, key=lambda pair: pair[0].st_mtime):
        if total <= LARGEST:
            return
        file.unlink(missing_ok=True)
        total -= facts.st_size


def fingerprint(texts: Sequence[str], tokenizer: Any, max_length: int) -> str:
    """32 hex digits that change with any text, with the tokenizer and with the limit."""
    digest = hashlib.blake2b(digest_size=16)
    backend = tokenizer.backend_tokenizer
    # Limits and padding are set before each use, so they are not part of the tokenizer's identity.
    state = type(backend).from_str(backend.to_str())
    state.no_truncation()
    state.no_padding()
    digest.update(f"{_VERSION} {max_length} {len(texts)} {state.to_str()}".encode())
    for start in range(0, len(texts), 4096):
        chunk = texts[start : start + 4096]
        try:
            lengths = np.fromiter(map(len, chunk), np.int64, len(chunk))
            digest.update(lengths.tobytes())  # or "ab", "c" would be "a", "bc"
            digest.update("".join(chunk).encode("utf-8", "surrogatepass"))
        except TypeError:
            raise not_a_text(chunk, start) from None
    return digest.hexdigest()


def _write(path: Path, tokenized: Tokenized) -> None:
    """Write under another name first: readers find the whole file or none."""
    rows = tokenized.rows
    counts = np.array([tokenized.n_empty, tokenized.n_cut], np.int64)
    arrays = {"ids": rows.ids, "offsets": rows.offsets, "counts": counts}
    arrays["digest"] = _digest(arrays)
    try:
        disk.make_folder(path.parent)
        with replaced_file(path) as file:
            dump_arrays(file, [arrays])
    except HeldError as error:
        raise StoreError(
            f"could not keep token ids in {path.parent}: {error} is writing the same ones; begin "
            "again when that is over, or give each run a folder of its own"
        ) from error
    except OSError as error:
        raise StoreError(
            f"could not keep token ids in {path.parent}: {error}; choose a folder with space for "
            f"{(rows.ids.nbytes + rows.offsets.nbytes) / 2**20:,.0f} MiB, or none"
        ) from error


def _read(path: Path, n_texts: int, tokenizer: Any) -> Tokenized | None:
    """Read what an earlier run left; None if it is absent or damaged, and then made again."""
    try:
        arrays = map_arrays(path)
        ids, offsets, (n_empty, n_cut) = arrays["ids"], arrays["offsets"], arrays["counts"]
        if not np.array_equal(arrays["digest"], _digest(arrays)):
            return None
    except (OSError, StoreError, KeyError, ValueError):
        return None
    whole = len(offsets) == n_texts + 1 and offsets[0] == 0 and offsets[-1] == len(ids)
    if not whole or ids.dtype != id_type(len(tokenizer)):
        return None
    return Tokenized(TokenRows(ids, offsets), n_empty=int(n_empty), n_cut=int(n_cut))


def _digest(arrays: dict[str, Any]) -> npt.NDArray[np.uint8]:
    """16 bytes that change with any of the contents, so that damage is seen."""
    digest = xxhash.xxh3_128()
    for name in ("ids", "offsets", "counts"):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return np.frombuffer(digest.digest(), np.uint8)
