"""Seed corpora: what our own writers write for small data, and edge cases written by hand."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from campaigns.readers import by_hand
from multitudes.data import Dataset, LabelSpace, WriteOptions, list_formats, write_dataset

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "interchange" / "fixtures"
TEXTS = (
    "red leather belt", 'a "quoted" word, with commas; and more', "naïve café 日本語 😀",
    "tab\tand end",
    "", "a b c " * 20,
)  # fmt: skip
LABELS = ("belts", "leather; goods", "日本語", "a,b", "http://example.org/c")
N_FEATURES = 7


def labels_of_rows(n_rows: int, n_labels: int) -> Any:
    """Return labels in a pattern: none, one, several."""
    rows = [list(range(i % (n_labels + 1))) for i in range(n_rows)]
    indices = np.array([label for row in rows for label in row], np.int32)
    indptr = np.cumsum([0, *map(len, rows)])
    return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), (n_rows, n_labels))


def text_dataset(n_rows: int = 6) -> Dataset:
    """Return a few texts with names that are hard to write."""
    texts = [TEXTS[i % len(TEXTS)] for i in range(n_rows)]
    return Dataset(
        texts=texts,
        Y=labels_of_rows(n_rows, len(LABELS)),
        label_names=LABELS,
        uids=[f"u{i}" for i in range(n_rows)],
    )


def feature_dataset(n_rows: int = 6) -> Dataset:
    """Return a few sparse rows."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n_rows, N_FEATURES), density=0.4, rng=rng, dtype=np.float32, format="csr")
    return Dataset(X=sp.csr_array(X), Y=labels_of_rows(n_rows, len(LABELS)))


def label_space() -> LabelSpace:
    """Return the labels that some targets read over."""
    return LabelSpace.of(text_dataset())


def write_all(folder: Path) -> None:
    """Write each corpus to a folder of its own: ``folder/name/0000``, ..."""
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    for make in (_by_hand, _formats, _folders, _packed, _npz, _vectors, _imports):
        for name, content in make(work):
            place = folder / "corpora" / name
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{len(list(place.iterdir())):04}").write_bytes(content)


def read_corpus(folder: Path, name: str) -> list[bytes]:
    """Return the contents of one corpus; none if it could not be written on this machine."""
    place = folder / "corpora" / name
    if not place.is_dir():
        return []
    return [path.read_bytes() for path in sorted(place.iterdir())]


Corpus = Iterator[tuple[str, bytes]]


def _by_hand(work: Path) -> Corpus:
    for name, contents in by_hand.CONTENTS.items():
        for content in contents:
            yield name, content


def _formats(work: Path) -> Corpus:
    """Single files, as our writers write them."""
    suffixes = {"json-lines": ".jsonl", "csv": ".csv", "tsv": ".tsv", "parquet": ".parquet",
                "fasttext": ".ft", "annif-tsv": ".tsv", "sparse-text": ".svm",
                "lines": ".txt"}  # fmt: skip
    simple = text_dataset(5)
    plain = Dataset(texts=["a b", "c", "d e f"], Y=labels_of_rows(3, 2), label_names=("x", "y"))
    for format in list_formats():
        if format.name not in suffixes or format.write is None:
            continue
        datasets = (simple, plain) if format.holds == "texts" else (feature_dataset(),)
        for dataset in datasets:
            for kind in ("names", "ids"):
                options = WriteOptions(label_kind=kind if dataset.label_names else "ids")
                path = work / f"data{suffixes[format.name]}"
                if _written(dataset, path, format.name, options):
                    yield format.name, path.read_bytes()


def _written(dataset: Dataset, path: Path, format: str, options: WriteOptions) -> bool:
    try:
        write_dataset(dataset, path, format=format, options=options)
    except Exception:  # noqa: BLE001 - some data cannot be written in some formats, or not here
        return False
    return True


def _folders(work: Path) -> Corpus:
    """Files of folders: each is a corpus of its own, ``lf/trn.jsonl``."""
    texts = Dataset(
        texts=["a b", "c", "d e"], Y=labels_of_rows(3, 2), label_names=("x", "y"),
        uids=["u0", "u1", "u2"], filter_pairs=np.array([[0, 1], [2, 0]]),
    )  # fmt: skip
    made = {
        "lf": texts,
        "annif-folder": texts,
        "xc-pair": feature_dataset(),
        "npz": feature_dataset(),
    }
    for format, dataset in made.items():
        folder = work / format
        if not _written(dataset, folder, format, WriteOptions()):
            continue
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield f"{format}/{path.relative_to(folder)}", path.read_bytes()


def _packed(work: Path) -> Corpus:
    """Compressed files, whole ones and bombs that are small when they are packed."""
    lines = by_hand.CONTENTS["json-lines"][0] * 3
    endless = b'{"text": "' + b"a" * 3_000_000
    many = b'{"text": "a", "labels": ["b"]}\n' * 20_000
    for name, pack in packers().items():
        for content in (lines, endless, many):
            packed = pack(content)
            yield f"packed/{name}", packed
        yield f"packed/{name}", pack(lines) + pack(lines)
        yield f"packed/{name}", pack(pack(lines))


def packers() -> dict[str, Callable[[bytes], bytes]]:
    """Return the compressions of this machine."""
    found: dict[str, Callable[[bytes], bytes]] = {
        "gz": lambda data: gzip.compress(data, 9, mtime=0),
        "xz": lzma.compress,
        "bz2": bz2.compress,
    }
    try:
        import zstandard
    except ImportError:
        return found
    return found | {"zst": zstandard.ZstdCompressor(write_checksum=True).compress}


def npz_members(matrix: Any) -> dict[str, bytes]:
    """Return the files inside a .npz of SciPy."""
    buffer = io.BytesIO()
    sp.save_npz(buffer, matrix)
    return unzipped(buffer.getvalue())


def unzipped(content: bytes) -> dict[str, bytes]:
    """Return the files of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a .npz with these files: its checksums fit whatever they hold."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def _npz(work: Path) -> Corpus:
    """Matrices in all forms: the files as they are, and what is inside."""
    for matrix in matrices():
        members = npz_members(matrix)
        yield "npz-file", zipped(members)
        for content in members.values():
            yield "npz-member", content
    for dtype in (np.int8, np.uint64, np.float16, np.complex64, np.dtype("U3"), np.dtype("M8[s]")):
        buffer = io.BytesIO()
        np.save(buffer, np.zeros(3, np.int64).astype(dtype))
        yield "npz-member", buffer.getvalue()


def matrices() -> list[Any]:
    """Return one matrix in each form that SciPy stores."""
    dense = feature_dataset().X
    assert dense is not None
    return [
        sp.csr_array(dense), sp.csc_array(dense), sp.coo_array(dense), sp.dia_array(dense),
        sp.bsr_array(dense), sp.csr_matrix(dense), sp.csc_matrix(labels_of_rows(6, 5)),
    ]  # fmt: skip


def all_members() -> dict[str, dict[str, bytes]]:
    """Return the files inside the .npz of each of `matrices`, by a name for it."""
    return {
        f"{type(matrix).__name__}{number}": npz_members(matrix)
        for number, matrix in enumerate(matrices())
    }


def _vectors(work: Path) -> Corpus:
    """Word vectors in word2vec's binary form."""
    for n_words, width in ((3, 2), (1, 1), (2, 300)):
        head = f"{n_words} {width}\n".encode()
        rows = [
            f"word{i} ".encode() + struct.pack(f"<{width}f", *range(width)) for i in range(n_words)
        ]
        yield "vectors-binary", head + b"".join(rows)
        yield "vectors-binary", head + b"\n".join(rows) + b"\n"


def _imports(work: Path) -> Corpus:
    """Files of models of other libraries, from the fixtures of the tests."""
    for path in sorted(FIXTURES.rglob("model/**/*")):
        if path.is_file():
            yield f"import/{path.name}", path.read_bytes()
