"""Small files that would take much time or memory, and a run of the readers over all of them.

Run as a program it prints, for each, the seconds, the memory beyond what was held before, and the
error: ``python -m tests.reliability.bombs FOLDER``.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import zstandard

UNIT = 2_000_000
LINES = {
    "an endless line": b"x",
    "blank lines": b"\n",
    "good lines": b'{"text": "some words", "labels": ["a"]}\n',
    "zeros": b"\0",
}
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 6),
    "xz": lambda data: lzma.compress(data, preset=0),
    "bz2": lambda data: bz2.compress(data, 1),
    "zst": lambda data: zstandard.compress(data, 1),
}
SUFFIXES = (".jsonl", ".csv", ".tsv", ".txt")
READ, PREDICTIONS, VECTORS, VOCABULARY = "data", "predictions", "vectors", "vocabulary"
Bomb = tuple[str, Path, str]


def archives(folder: Path) -> Iterator[Bomb]:
    """Yield archives of a few hundred KB that unpack to 2 GB, in each format of lines."""
    for kind, compress in COMPRESS.items():
        for what, pattern in LINES.items():
            packed = compress(pattern * (UNIT // len(pattern))) * 1000
            all_formats = kind == "zst" and what != "good lines"
            for suffix in SUFFIXES if all_formats else SUFFIXES[:1]:
                path = folder / f"{what.replace(' ', '-')}{suffix}.{kind}"
                path.write_bytes(packed)
                yield f"{kind}, {what}, {suffix}", path, READ


def headers(folder: Path) -> Iterator[Bomb]:
    """Yield files whose first lines announce more than they hold."""
    digits = b"9" * 5000
    contents = {
        "huge.txt": (b"99999999999999999999 5 3\n0 1:1\n", READ),
        "digits.txt": (digits + b" 5 3\n0 1:1\n", READ),
        "rows.txt": (b"2000000000 2000000000 2000000000\n0 1:1\n", READ),
        "label.txt": (b"2147483645 1:1\n", READ),
        "ids.jsonl": (b'{"text": "a", "labels": [2147483645]}\n', READ),
        "ids.json": (b'[{"text": "a", "labels": [2147483645]}]', READ),
        "nested.json": (b'[{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}]", READ),
        "predicted.jsonl": (b'{"labels": [{"label": 99999999999999999999}]}\n', PREDICTIONS),
        "predicted.csv": (b"row,rank,label,score\n" + digits + b",1,a,1\n", PREDICTIONS),
        "ranks.csv": (b"uid,rank,label,score\na,1e999,a,1\n", PREDICTIONS),
        "wide.vec": (b"1 99999\na 1 2\n", VECTORS),
        "digits.vec": (digits + b" " + digits + b"\na 1 2\n", VECTORS),
        "laughs.rdf": (billion_laughs(), VOCABULARY),
        "nested.ttl": (b"<a:b> <c:d> " + b"(" * 100_000, VOCABULARY),
        "remote.jsonld": (b'{"@context": {"@import": "http://example.org/c"}}', VOCABULARY),
    }  # fmt: skip
    for name, (content, what) in contents.items():
        (folder / name).write_bytes(content)
        yield name, folder / name, what


def billion_laughs() -> bytes:
    """Return XML whose entities name each other ten times over."""
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha"}">' for i in range(10))
    return f'<?xml version="1.0"?><!DOCTYPE r [{entities}]><r>&e9;</r>'.encode()


def vectors(folder: Path) -> Iterator[Bomb]:
    """Yield word vectors without line ends, and without spaces between words."""
    packed = zstandard.compress(b"1" * UNIT, 1) * 1000
    for name, start in (("endless.vec", b""), ("endless.bin", b"5 4\n\0\1\2")):
        path = folder / f"{name}.zst"
        path.write_bytes((zstandard.compress(start) if start else b"") + packed)
        yield name, path, VECTORS


def windows(folder: Path) -> Iterator[Bomb]:
    """Yield archives whose first bytes ask for a window or dictionary of gigabytes."""
    # A frame that names a window of 2^41 bytes, and its first block.
    (folder / "window.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd\x00\xf8" + b"\1\0\0" * 4)
    yield "window", folder / "window.jsonl.zst", READ
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    packed = bytearray(lzma.compress(b"x" * 1000, filters=filters))
    packed[16] = 40  # 4 GB
    packed[20:24] = struct.pack("<I", zlib.crc32(bytes(packed[12:20])))
    (folder / "dictionary.jsonl.xz").write_bytes(bytes(packed))
    yield "dictionary", folder / "dictionary.jsonl.xz", READ


def matrices(folder: Path) -> Iterator[Bomb]:
    """Yield .npz pairs: their shapes, sizes and indices say what is not so."""
    one, none = np.ones(1, np.float32), np.zeros(0, np.int32)
    at = np.zeros(1, np.int64)
    many = {"indptr": np.array([0, 60_000_000]), "indices": np.zeros(60_000_000, np.int8)}
    stored = {
        "rows": {"format": b"coo", "shape": (2_000_000_000, 3), "row": at, "col": at, "data": one},
        "more rows": {"format": b"coo", "shape": (3 * 10**9, 3), "row": at, "col": at, "data": one},
        "columns": {
            "format": b"csc", "shape": (2_000_000_000, 1), "indptr": np.array([0, 1]),
            "indices": at, "data": one,
        },
        "data alone": {
            "format": b"csr", "shape": (2, 3), "indptr": np.array([0, 1, 2]),
            "indices": np.zeros(2, np.int32), "data": np.zeros(60_000_000, np.bool_),
        },
        "one column": {
            "format": b"csr", "shape": (1, 3), **many, "data": np.ones(60_000_000, np.bool_),
        },
        "one place": {
            "format": b"csr", "shape": (1, 10**9), **many, "data": np.ones(60_000_000, np.bool_),
        },
        "diagonals": {
            "format": b"dia", "shape": (10**8, 10**8), "offsets": np.arange(2),
            "data": np.zeros((2, 50_000_000), np.bool_),
        },
        "outside": {
            "format": b"csc", "shape": (1000, 3), "indptr": np.array([0, 1, 2, 3]),
            "indices": np.array([500_000_000, 0, 1]), "data": np.ones(3),
        },
        "blocks": {
            "format": b"bsr", "shape": (4, 4), "indptr": np.array([0, 9, 1]), "indices": none,
            "data": np.ones((0, 2, 2), np.float32),
        },
    }  # fmt: skip
    for name, arrays in stored.items():
        place = folder / name.replace(" ", "-")
        place.mkdir()
        np.savez_compressed(place / "trn.X.npz", **arrays)
        np.savez(place / "trn.Y.npz", format=b"csr", shape=(1, 1), data=one, indices=none)
        yield f"npz, {name}", place, READ
        yield f"npz of scores, {name}", place / "trn.X.npz", PREDICTIONS
    place = folder / "declared.npz"
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % 10**15
    with zipfile.ZipFile(place, "w") as archive:
        for name in ("format", "shape", "data"):
            archive.writestr(
                f"{name}.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header
            )
    yield "npz, declared", place, PREDICTIONS


def tables(folder: Path) -> Iterator[Bomb]:
    """Yield Parquet whose rows all name one long string."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.DictionaryArray.from_arrays(np.zeros(900, np.int32), ["x" * (1 << 25)])
    long = pa.table({"text": text})
    pq.write_table(long, folder / "long.parquet", compression="zstd", store_schema=False)
    yield "parquet, long texts", folder / "long.parquet", READ
    packed = pa.table({"text": ["x" * 4_000_000] * 10})
    pq.write_table(packed, folder / "packed.parquet", compression="zstd", use_dictionary=False)
    yield "parquet, packed", folder / "packed.parquet", READ


def all_bombs(folder: Path) -> Iterator[Bomb]:
    """Yield (name, path, how it is read) of all of them."""
    for make in (archives, headers, vectors, windows, matrices, tables):
        yield from make(folder)


def read(path: Path, how: str) -> None:
    """Read a file as what it says it is."""
    from multitudes.data import read_dataset, read_prediction_file, read_vocabulary
    from multitudes.seq2set.words.word_vectors import read_word_vectors

    if how == READ:
        read_dataset(path)
    elif how == PREDICTIONS:
        read_prediction_file(path)
    elif how == VOCABULARY:
        read_vocabulary(path)
    else:
        read_word_vectors(path, [f"w{i}" for i in range(500_000)])


def peak_bytes() -> int:
    """Return the most memory that this process held since it was last forgotten."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def slowness() -> float:
    """Return how many times slower than an idle core this machine is now, at least 1."""
    start = time.process_time()
    sum(i & 7 for i in range(500_000))
    return max(1.0, (time.process_time() - start) / 0.03)


def measured(path: Path, how: str) -> tuple[float, int, str]:
    """Return seconds of an idle core, bytes beyond those held before, and the error of reading."""
    Path("/proc/self/clear_refs").write_text("5")
    slow = slowness()
    before, start = peak_bytes(), time.process_time()
    try:
        read(path, how)
        said = "read"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    seconds = time.process_time() - start
    return seconds / max(slow, slowness()), peak_bytes() - before, said


def main(folder: Path) -> None:
    """Read all bombs, and print what each took."""
    (folder / "good.jsonl").write_bytes(LINES["good lines"])
    (folder / "good.txt").write_bytes(b"0 1:1\n")
    for name in ("good.jsonl", "good.txt"):  # what is imported or compiled once is not measured
        read(folder / name, READ)
    os.environ["MULTITUDES_MAX_MEMORY"] = "4GB"
    found = {}
    for name, path, how in all_bombs(folder):
        found[name] = (*measured(path, how), str(path))
        if path.is_file():
            path.unlink()
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
