"""What is read: each target writes a mutated content to a file, and reads it in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from campaigns import mutation
from campaigns.readers import by_hand, corpora
from multitudes.data import ReadOptions, read_dataset, read_vocabulary

Read = Callable[[Path], Any]


@dataclass(frozen=True)
class Target:
    """A way to read a file.

    Parameters
    ----------
    name
        Unique.
    corpus
        Where its contents come from.
    file
        The name under which a content is written, in a folder of the target's own.
    read
        What is called with that path.
    tokens
        The dictionary of the format.
    beside
        Other files of the folder.
    needs
        Packages without which it is skipped.
    members
        If the file is an archive: its contents by name. The first line of a case then names the
        member that the rest stands for, so that checksums fit and damage reaches what is inside.
    named
        Whether errors must name the file; not if more is done than to read it.
    """

    name: str
    corpus: str
    file: str
    read: Read
    tokens: Sequence[bytes] = ()
    beside: Mapping[str, bytes] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    members: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    named: bool = True

    def headers(self) -> list[bytes]:
        """Return the first lines that a case may have: archive and member."""
        return [
            f"{archive} {member}".encode()
            for archive, members in self.members.items()
            for member in members
        ]

    def file_of(self, content: bytes) -> bytes:
        """Return the bytes to write for a case."""
        if not self.members:
            return content
        header, _, inside = content.partition(b"\n")
        if header not in self.headers():
            return content
        archive, _, member = header.decode().partition(" ")
        return corpora.zipped({**self.members[archive], member: inside})


def used(dataset: Any) -> None:
    """Look at what was read: it must be whole."""
    dataset.Y.check_format(full_check=True)
    if dataset.X is not None:
        dataset.X.check_format(full_check=True)
    for i in range(min(len(dataset), 3)):
        dataset.labels_of(i)


def dataset_reader(**given: Any) -> Read:
    """Return a reader of data with some options."""
    keywords = {key: given.pop(key) for key in ("format", "labels") if key in given}
    options = ReadOptions(**given)
    return lambda path: used(read_dataset(path, options=options, **keywords))


def all_targets() -> list[Target]:
    """Return every target, in the same order on every machine."""
    makers = (
        _single_files,
        _packed,
        _folders,
        _npz,
        _groups,
        _vocabularies,
        _vectors,
        _imports,
        _other,
    )
    return [target for make in makers for target in make()]


FORMATS = {
    "json-lines": (".jsonl", mutation.JSON),
    "csv": (".csv", mutation.TABLES),
    "tsv": (".tsv", mutation.TABLES),
    "fasttext": (".ft", mutation.FASTTEXT),
    "annif-tsv": (".dat", mutation.TABLES),
    "sparse-text": (".svm", mutation.SPARSE),
    "lines": (".txt", ()),
    "parquet": (".parquet", ()),
}


def _single_files() -> Iterator[Target]:
    space = corpora.label_space()
    for format, (suffix, tokens) in FORMATS.items():
        needs = ("pyarrow",) if format == "parquet" else ()
        variants: dict[str, dict[str, Any]] = {
            "": {},
            "as named": {"format": format},
            "skip": {"on_error": "skip"},
            "ids": {"format": format, "label_kind": "ids"},
            "space": {"labels": space, "unknown_labels": "raise"},
        }
        if format in ("csv", "tsv"):
            variants |= {
                "unquoted": {"format": format, "quote": ""},
                "headed": {"header": "yes", "text_column": "text", "label_separator": ";"},
                "headless": {"header": "no", "on_error": "skip"},
            }
        if format == "sparse-text":
            variants |= {"svmlight": {"format": format, "first_feature": 1, "n_features": 5}}
        for variant, given in variants.items():
            name = f"{format} {variant}".strip()
            file = f"input{suffix}"
            yield Target(name, format, file, dataset_reader(**given), tokens, needs=needs)
        if format != "parquet":
            yield Target(f"{format} unnamed", format, "input", dataset_reader(), tokens)


def _packed() -> Iterator[Target]:
    for name in ("gz", "xz", "bz2", "zst"):
        needs = ("zstandard",) if name == "zst" else ()
        yield Target(
            f"packed {name}", f"packed/{name}", f"input.jsonl.{name}", dataset_reader(), needs=needs
        )


def _folders() -> Iterator[Target]:
    files = {
        "lf": (("trn.jsonl", mutation.JSON), ("lbl.jsonl", mutation.JSON)),
        "annif-folder": (("u0.txt", ()), ("u1.tsv", mutation.TABLES)),
        "xc-pair": (("trn_X_Xf.txt", mutation.SPARSE), ("trn_X_Y.txt", mutation.SPARSE)),
    }
    for format, members in files.items():
        read = dataset_reader()
        for file, tokens in members:
            yield Target(
                f"{format} {file}", f"{format}/{file}", file, _of_folder(read), tokens,
                beside={"from corpus": format.encode()},
            )  # fmt: skip
    lf = {"from corpus": b"lf"}
    filters = "filter_labels_train.txt"
    read = _of_folder(dataset_reader())
    yield Target("filter", "filter", filters, read, mutation.SPARSE, beside=lf)
    documents = {"from corpus": b"annif-folder"}
    json_documents = dataset_reader(format="annif-folder")
    yield Target(
        "annif-folder json", "json-lines", "u9.json", _of_folder(json_documents), mutation.JSON,
        beside=documents,
    )  # fmt: skip
    yield Target("annif-folder key", "lines", "u0.key", read, beside=documents)
    yield Target("features.txt", "lines", "features.txt", read, beside={"from corpus": b"xc-pair"})


def _of_folder(read: Read) -> Read:
    return lambda path: read(path.parent)


def _npz() -> Iterator[Target]:
    read = _of_folder(dataset_reader())
    beside = {"from corpus": b"npz"}
    members = corpora.all_members()
    for file in ("trn.X.npz", "trn.Y.npz"):
        name = f"npz {file[4]}"
        yield Target(name, "npz-file", file, read, mutation.NPY, beside=beside)
        yield Target(
            f"{name} inside", "npz-member", file, read, mutation.NPY, beside=beside,
            members=members,
        )  # fmt: skip


def _groups() -> Iterator[Target]:
    instances = b'{"text": "a", "labels": ["x"], "group": "g"}\n{"text": "b", "group": ["h"]}\n'
    rows = b"6 5 3\n0,2 1:0.5 4:2\n1 0:1\n\n0 1:1\n1 1:1\n2 1:1\n"
    groups = by_hand.CONTENTS["group-labels"][0]
    numbered = groups.replace(b'"x"', b"0").replace(b'"y"', b"1")

    def grouped(path: Path) -> None:
        options = ReadOptions(group_labels=str(path))
        used(read_dataset(path.with_name("data.jsonl"), options=options))

    def of_features(path: Path) -> None:
        options = ReadOptions(
            group_labels=str(path.with_name("groups.jsonl")), instance_groups=str(path)
        )
        used(read_dataset(path.with_name("data.svm"), options=options))

    yield Target(
        "group labels", "group-labels", "groups.jsonl", grouped, mutation.JSON,
        beside={"data.jsonl": instances},
    )  # fmt: skip
    yield Target(
        "instance groups", "instance-groups", "instances.jsonl", of_features, mutation.JSON,
        beside={"data.svm": rows, "groups.jsonl": numbered},
    )  # fmt: skip


def _vocabularies() -> Iterator[Target]:
    for suffix in ("ttl", "rdf", "nt", "jsonld", "tsv", "csv", "jsonl"):
        skos = suffix in ("ttl", "rdf", "nt", "jsonld")
        tokens = mutation.SKOS if skos else mutation.TABLES + mutation.JSON
        needs = ("rdflib",) if skos else ()
        for language in (None, "en"):
            name = f"vocabulary {suffix} {language or ''}".strip()
            read = partial(read_vocabulary, language=language)
            corpus = f"vocabulary-{suffix}"
            yield Target(name, corpus, f"input.{suffix}", read, tokens, needs=needs)


def _vectors() -> Iterator[Target]:
    from multitudes.seq2set.words.word_vectors import read_word_vectors

    words = ("cat", "dog", "word", "word0", "word1", "0.1")
    read = partial(read_word_vectors, words=words)
    yield Target("vectors text", "vectors-text", "input.vec", read, mutation.SPARSE)
    yield Target("vectors binary", "vectors-binary", "input.bin", read, mutation.SPARSE)


def _imports() -> Iterator[Target]:
    kinds = {
        "pecos/binary": ("param.json", "ranker/param.json", "ranker/1.model/param.json",
                         "ranker/1.model/C.npz", "ranker/2.model/W.npz"),
        "omikuji/uneven": ("settings.json", "tree0.cbor"),
        "texts/bigrams-and-characters": (
            "output_items.json", "preprocessor/config.json", "preprocessor/meta.json",
            "preprocessor/0.base/tokenizer/vocab.txt", "preprocessor/0.base/vectorizer/config.json",
            "preprocessor/1.base/vectorizer/tfidf-model.txt", "xlinear_ensemble/config.json",
            "xlinear_ensemble/0/ranker/0.model/W.npz"),
    }  # fmt: skip
    for fixture, files in kinds.items():
        model = corpora.FIXTURES / fixture / "model"
        beside = {
            str(path.relative_to(model)): path.read_bytes()
            for path in sorted(model.rglob("*"))
            if path.is_file()
        }
        for file in files:
            tokens = mutation.NPY if file.endswith(".npz") else mutation.JSON
            corpus = f"import/{Path(file).name}"
            read = partial(imported, depth=file.count("/"))
            name = f"import {fixture.partition('/')[0]} {file}"
            yield Target(name, corpus, file, read, tokens, beside=beside)
            if file.endswith(".npz"):
                yield Target(
                    f"{name} inside", "npz-member", file, read, mutation.NPY, beside=beside,
                    members={"it": corpora.unzipped(beside[file])},
                )  # fmt: skip


def imported(path: Path, depth: int) -> None:
    """Import the model that a file belongs to, and predict with it."""
    import numpy as np
    import scipy.sparse as sp

    from multitudes.interchange import import_model

    tagger = import_model(path.parents[depth])
    if tagger.takes_texts_:
        tagger.predict(["red apple", ""], top_k=3)
    else:
        width = tagger.model_.n_features_in_
        X = sp.csr_array((np.ones(3, np.float32), [0, width // 2, width - 1], [0, 3]), (1, width))
        tagger.predict(X, top_k=3)


def _other() -> Iterator[Target]:
    from multitudes.cli.files.label_lists import listed_labels

    def listed(path: Path) -> None:
        listed_labels(str(path), corpora.LABELS, option="--labels", quiet=True)

    def encoder(path: Path) -> None:
        from multitudes.encoder.backbone.folders import read_encoder

        read_encoder(path.parent)

    yield Target("label list", "label-list", "labels.txt", listed)
    yield Target(
        "modules.json", "modules", "modules.json", encoder, mutation.JSON,
        beside={"config.json": b"{}", "1_Pooling/config.json": b'{"pooling_mode_cls_token": true}'},
        needs=("transformers",),
    )  # fmt: skip
