"""Read pre-trained word vectors: word2vec and GloVe files, text or binary, compressed or not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from multitudes import memory
from multitudes.data.compression import open_bytes, reading
from multitudes.errors import ConfigError, DataError
from multitudes.types import FloatArray

SAMPLE_BYTES = 1 << 12
BLOCK_BYTES = 1 << 22
MAX_WIDTH = 100_000
MAX_LINE_BYTES = 1 << 22  # a line of the widest vectors, written with all digits
MAX_WORD_BYTES = 1 << 16
_BOM = b"\xef\xbb\xbf"
_CONTROL = frozenset(range(9)) | frozenset(range(14, 32))


@dataclass(frozen=True)
class WordVectors:
    """Vectors of some words.

    Parameters
    ----------
    vectors : float32 array (n_words, d)
        Zero rows for words without a vector.
    known : bool array (n_words,)
        Which words have one.
    """

    vectors: FloatArray
    known: npt.NDArray[np.bool_]


def read_word_vectors(
    path: str | PathLike[str], words: Sequence[str], *, dim: int | None = None
) -> WordVectors:
    """The vectors of `words`; those of other words are counted, but not read or checked.

    A word is looked up as it is written. A lower-case word that the file has in another case only
    ("Paris") takes that one's vector, the first in the file.

    Parameters
    ----------
    path : path
        Lines of a word and its numbers, between spaces or tabs, with or without a first line
        ``n_words width`` (word2vec, GloVe), or word2vec's binary format; maybe compressed.
    words : sequence of str
        All different.
    dim : int, optional
        The width that is expected; by default whatever the file has.

    Raises
    ------
    DataError
        For a line with too few or too many numbers, or something else than a number: it names the
        file and the line. For a binary file that does not hold what its first line announces.
    ConfigError
        If the width is not `dim`.
    """
    path = Path(path)
    with reading(path), open_bytes(path) as stream:
        place = {word: i for i, word in enumerate(words)}
        width, entries = _entries(stream, path, place)
        if dim is not None and width != dim:
            raise ConfigError(
                f"{path} holds vectors of width {width}, but dim={dim} is asked for: "
                f"set dim={width} or None, or give a file of that width"
            )
        memory.ask(
            4 * len(place) * width, f"{path}: vectors of width {width:,} for {len(place):,} words"
        )
        return _gathered(entries, place, width)


def _gathered(
    entries: Iterable[tuple[str, FloatArray]], place: Mapping[str, int], width: int
) -> WordVectors:
    vectors = np.zeros((len(place), width), np.float32)
    exact, by_case = np.zeros(len(place), bool), np.zeros(len(place), bool)
    for word, vector in entries:
        at = place.get(word)
        if at is not None and not exact[at]:
            vectors[at] = vector
            exact[at] = True
            continue
        at = place.get(word.lower())
        if at is not None and not exact[at] and not by_case[at]:
            vectors[at] = vector
            by_case[at] = True
    return WordVectors(vectors, exact | by_case)


def _entries(
    stream: BinaryIO, path: Path, wanted: Collection[str]
) -> tuple[int, Iterator[tuple[str, FloatArray]]]:
    """Width of the vectors, and (word, vector) of each entry of a wanted word, in any case."""
    first = _line(stream, path, 1).removeprefix(_BOM)
    if not first.strip():
        raise DataError(f"{path}:1: the line is empty; expected a word and its vector")
    header = _header(first, path)
    if header is None:
        width = len(_fields(first, path, 1)) - 1
        if width < 1:
            raise DataError(f"{path}:1: expected a word and its numbers, got {_shown(first)}")
        _check_width(width, path)
        return width, _text_entries(stream, path, wanted, width, first_line=1, before=first)
    n_words, width = header
    sample = stream.read(SAMPLE_BYTES)
    if not sample.strip():
        raise DataError(f"{path} has a first line ({n_words} {width}), but no vectors behind it")
    if _is_binary(sample):
        return width, _binary_entries(stream, path, wanted, (n_words, width), before=sample)
    return width, _text_entries(stream, path, wanted, width, first_line=2, before=sample)


def _header(line: bytes, path: Path) -> tuple[int, int] | None:
    """(number of words, width) of a word2vec header; None for anything else."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        return None
    # More digits than any number of words has say no more than these.
    n_words, width = (int((part.lstrip(b"0") or b"0")[:18]) for part in parts)
    if width < 2:
        return None
    _check_width(width, path)
    return n_words, width


def _check_width(width: int, path: Path) -> None:
    if width > MAX_WIDTH:
        raise DataError(
            f"{path}:1: the first line announces vectors of width {width}, more than the "
            f"{MAX_WIDTH:,} that are possible: it must be the number of words and the width"
        )


def _is_binary(sample: bytes) -> bool:
    """Whether bytes are binary: they hold control characters, or are not UTF-8."""
    if not _CONTROL.isdisjoint(sample):
        return True
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(sample) - 3  # a character may be cut at the end
    return False


def _text_entries(
    stream: BinaryIO,
    path: Path,
    wanted: Collection[str],
    width: int,
    *,
    first_line: int,
    before: bytes,
) -> Iterator[tuple[str, FloatArray]]:
    for number, line in enumerate(_lines(stream, path, before, first_line), first_line):
        if not line.strip():  # files may end in an empty line
            continue
        fields = _fields(line, path, number)
        is_plain = len(fields) == width + 1
        if not is_plain or _is_wanted(fields[0], wanted):
            yield _parsed(fields, path, number, width)


def _is_wanted(word: str, wanted: Collection[str]) -> bool:
    return word in wanted or word.lower() in wanted


def _lines(stream: BinaryIO, path: Path, before: bytes, first_line: int) -> Iterator[bytes]:
    """Lines, of which the bytes `before` were read already."""
    n_before = before.count(b"\n")
    rest = before + _line(stream, path, first_line + n_before)
    for number, line in enumerate(rest.splitlines(keepends=True), first_line):
        _check_length(line, path, number)
        yield line
    number = first_line + n_before + 1
    while line := _line(stream, path, number):
        yield line
        number += 1


def _line(stream: BinaryIO, path: Path, number: int) -> bytes:
    """The rest of a line, which must not be endless."""
    line = stream.readline(MAX_LINE_BYTES + 1)
    _check_length(line, path, number)
    return line


def _check_length(line: bytes, path: Path, number: int) -> None:
    if len(line) > MAX_LINE_BYTES:
        raise DataError(
            f"{path}:{number}: the line is longer than {MAX_LINE_BYTES:,} bytes; expected a word "
            "and its numbers: check that the file has line ends"
        )


def _fields(line: bytes, path: Path, number: int) -> list[str]:
    try:
        return line.decode("utf-8").rstrip().replace("\t", " ").split(" ")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: the line is not UTF-8: {_shown(line)}") from error


def _parsed(fields: list[str], path: Path, number: int, width: int) -> tuple[str, FloatArray]:
    """A word and its vector; a few words of public files have spaces in them."""
    numbers, word = fields[-width:], fields[: len(fields) - width]
    if not word or any(_is_number(part) for part in word[1:]):
        n_numbers = sum(map(_is_number, fields[1:]))
        raise DataError(
            f"{path}:{number}: the line of {fields[0]!r} has {n_numbers} numbers, expected "
            f"{width}, the width of this file: repair or remove the line"
        )
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(part) for part in numbers]).astype(np.float32)
    except ValueError as error:
        bad = next(part for part in numbers if not _is_number(part))
        raise DataError(
            f"{path}:{number}: the line of {word[0]!r} has {bad!r} among its {width} numbers: "
            "repair or remove the line"
        ) from error
    if not np.isfinite(vector).all():
        raise DataError(f"{path}:{number}: the vector of {word[0]!r} is not finite: remove it")
    return " ".join(word), vector


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _binary_entries(
    stream: BinaryIO, path: Path, wanted: Collection[str], shape: tuple[int, int], *, before: bytes
) -> Iterator[tuple[str, FloatArray]]:
    """Entries of word2vec's binary format: a word, a space, float32 numbers, maybe a line end."""
    n_words, width = shape
    data, at, n_bytes = before, 0, 4 * width
    for number in range(1, n_words + 1):
        space = data.find(b" ", at)
        while space < 0 or space + 1 + n_bytes > len(data):
            more = stream.read(BLOCK_BYTES)
            if not more:
                raise DataError(
                    f"{path} ends in entry {number:,} of the {n_words:,} that its first line "
                    f"({n_words} {width}) announces: it is cut off, or its width is not {width}"
                )
            if space < 0 and len(data) - at > MAX_WORD_BYTES:
                raise DataError(
                    f"{path}: the word of entry {number:,} is longer than {MAX_WORD_BYTES:,} bytes "
                    f"(it starts with {_shown(data[at:])}): the file is damaged, or its width is "
                    f"not {width}"
                )
            data, at = data[at:] + more, 0
            space = data.find(b" ", at)
        word = data[at:space].lstrip(b"\n").decode("utf-8", "replace")
        at = space + 1 + n_bytes
        if not _is_wanted(word, wanted):
            continue
        vector = np.frombuffer(data, "<f4", width, space + 1).astype(np.float32)
        if not np.isfinite(vector).all():
            raise DataError(
                f"{path}: the vector of {word!r}, entry {number:,}, is not finite: the file is "
                f"damaged, or its width is not {width}"
            )
        yield word, vector
    if (data[at:] + stream.read(BLOCK_BYTES)).strip(b"\n"):
        raise DataError(
            f"{path} goes on behind the {n_words:,} entries that its first line "
            f"({n_words} {width}) announces: there are more, or their width is not {width}; "
            "correct that line"
        )


def _shown(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace").rstrip()
    return repr(text)
