"""Token ids kept on disk between runs, memory-mapped when they are used again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from multitudes.deep.texts.tokenizing import Tokenized, id_type, tokenize
from multitudes.deep.texts.tokens import TokenRows
from multitudes.errors import StoreError
from multitudes.features.text_buffer import as_texts, not_a_text
from multitudes.files import disk
from multitudes.files.lease import HeldError
from multitudes.files.writing import replaced_file
from multitudes.store.files import dump_arrays, map_arrays

_VERSION = "tokens-1"  # part of the fingerprint: a change of the way texts are cut changes it


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
    try:
        disk.make_folder(path.parent)
        with replaced_file(path) as file:
            dump_arrays(file, {"ids": rows.ids, "offsets": rows.offsets, "counts": counts})
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
    except (OSError, StoreError, KeyError, ValueError):
        return None
    whole = len(offsets) == n_texts + 1 and offsets[0] == 0 and offsets[-1] == len(ids)
    if not whole or ids.dtype != id_type(len(tokenizer)):
        return None
    return Tokenized(TokenRows(ids, offsets), n_empty=int(n_empty), n_cut=int(n_cut))
