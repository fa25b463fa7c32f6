"""`Vocabulary`: names of labels by their URIs, and Datasets named by it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multitudes.data.compression import peek, reading, uncompressed_suffix
from multitudes.data.dataset import Dataset
from multitudes.data.label_space import move_columns
from multitudes.data.report import ReadReport
from multitudes.data.vocabularies.concepts import UNTAGGED, Concept, chosen_language
from multitudes.errors import DataError

RDF_SUFFIXES = {
    ".ttl": "turtle", ".n3": "n3", ".nt": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml",
    ".skos": "xml", ".jsonld": "json-ld",
}  # fmt: skip
TABLE_SUFFIXES = (".tsv", ".csv", ".jsonl", ".ndjson", ".json")
_JOINED = "; "
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Vocabulary:
    """What the concepts of a vocabulary are called.

    Parameters
    ----------
    titles : dict of str to str
        The preferred name of each URI, in the language that was asked for if there is one.
    texts : dict of str to str
        The preferred name and the alternative names of each URI, for models that read them.
    uris : dict of str to str
        The URI of each preferred name, of any language, and of each notation, if only one has it.
    language : str
        The language of the names; ``""`` if they have none.

    Examples
    --------
    >>> yso = read_vocabulary("yso-skos.ttl", language="fi")  # doctest: +SKIP
    >>> yso.titles["http://www.yso.fi/onto/yso/p3973"]        # doctest: +SKIP
    'antiikki'
    """

    titles: dict[str, str]
    texts: dict[str, str]
    uris: dict[str, str]
    language: str

    @classmethod
    def of(cls, concepts: dict[str, Concept], language: str | None, path: Path) -> Vocabulary:
        """Return the names of concepts, by URI, in a language or the nearest to it."""
        chosen = chosen_language(concepts.values(), language, path)
        titles, texts = {}, {}
        for uri, concept in concepts.items():
            tag = concept.named_in(chosen)
            titles[uri] = concept.titles[tag]
            names = [concept.titles[tag], *sorted(concept.alternatives.get(tag, ()))]
            texts[uri] = _JOINED.join(dict.fromkeys(names))
        return cls(titles, texts, unique_uris(concepts), chosen)

    def __len__(self) -> int:
        return len(self.titles)


def unique_uris(concepts: dict[str, Concept]) -> dict[str, str]:
    """Return the URI of each name and notation that only one concept has."""
    pairs = {(name, uri) for uri, concept in concepts.items() for name in _names(concept)}
    counts = Counter(name for name, _ in pairs)
    return {name: uri for name, uri in pairs if counts[name] == 1}


def _names(concept: Concept) -> Iterator[str]:
    yield from concept.titles.values()
    yield from concept.notations


def read_vocabulary(path: str | Path, *, language: str | None = None) -> Vocabulary:
    """Read a vocabulary: SKOS in any RDF format, or a table.

    Parameters
    ----------
    path : path
        RDF (``.ttl``, ``.rdf``, ``.nt``, ``.jsonld``, ...; needs the extra ``skos``); Annif's
        tables (``.tsv`` with ``<uri>`` and label, ``.csv`` with ``uri`` and ``label_en``, ...);
        JSON lines with ``uri`` (or ``uid``) and ``title``. Compressed or not.
    language : str, optional
        The language of the names, e.g. "de". A concept without names in it gets those of a related
        language, names without a language, English ones, or any. Defaults to the commonest.
    """
    path = Path(path)
    return Vocabulary.of(read_concepts(path), language, path)


def read_concepts(path: str | Path) -> dict[str, Concept]:
    """Read all that a vocabulary says of the concepts it names, by URI; see `read_vocabulary`."""
    path = Path(path)
    with reading(path):
        concepts = _read(path)
    named = {uri: concept for uri, concept in concepts.items() if concept.titles}
    if not named:
        raise DataError(
            f"{path} holds no names of concepts; expected skos:prefLabel in RDF, or URIs and "
            "labels in a table"
        )
    return named


def _read(path: Path) -> dict[str, Concept]:
    suffix = uncompressed_suffix(path)
    kind = RDF_SUFFIXES.get(suffix) or (suffix if suffix in TABLE_SUFFIXES else _guess(path))
    if kind in TABLE_SUFFIXES:
        from multitudes.data.vocabularies.tables import read_table_concepts

        return read_table_concepts(path, kind)
    from multitudes.data.vocabularies.skos import read_skos_concepts

    return read_skos_concepts(path, kind)


def _guess(path: Path) -> str:
    """Return the kind of a vocabulary whose suffix tells nothing, e.g. of a pipe."""
    head = peek(path, 1 << 12).removeprefix(_BOM).lstrip()
    first = head.split(b"\n", 1)[0]
    if head.startswith((b"@prefix", b"@base", b"PREFIX", b"#")):
        return "turtle"
    if head.startswith((b"<?xml", b"<rdf:")):
        return "xml"
    if head.startswith(b"{") and b"@context" in head:
        return "json-ld"
    if head.startswith(b"{"):
        return ".jsonl"
    if b"\t" in first:
        return ".tsv"
    if head.startswith(b"<"):
        return "nt"
    if b"uri" in first.lower().split(b","):
        return ".csv"
    raise DataError(
        f"{path}: cannot tell what kind of vocabulary this is; expected a file with one of the "
        f"suffixes {', '.join((*RDF_SUFFIXES, *TABLE_SUFFIXES))}"
    )


def named_by(dataset: Dataset, vocabulary: Vocabulary, source: str) -> Dataset:
    """Return the Dataset with the URIs of a vocabulary as label names, and its names as titles.

    Labels may be URIs, or preferred names and notations, which become URIs; labels outside the
    vocabulary stay as they are.

    Parameters
    ----------
    dataset : Dataset
        Its labels have names.
    vocabulary : Vocabulary
    source : str
        What to call the vocabulary in the report.
    """
    if dataset.label_names is None:
        raise DataError(
            f"labels are ids, so {source} cannot name them; expected URIs or names: if the "
            "numbers are names, set label_kind='names'"
        )
    names = [
        name if name in vocabulary.titles else vocabulary.uris.get(name, name)
        for name in dataset.label_names
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    target = np.array([places[name] for name in names], np.int64)
    Y = move_columns(dataset.Y, target, len(places))
    Y.sum_duplicates()
    Y.data[:] = 1
    pairs = dataset.filter_pairs
    if pairs is not None:
        pairs = np.unique(np.stack([pairs[:, 0], target[pairs[:, 1]]], axis=1), axis=0)
    known = sum(name in vocabulary.titles for name in places)
    in_language = f" ({vocabulary.language})" if vocabulary.language != UNTAGGED else ""
    report = ReadReport() if dataset.report is None else dataset.report
    taken = f"{known:,} of {len(places):,} labels named by {source}{in_language}"
    return dataclasses.replace(
        dataset,
        Y=Y,
        group_labels=None
        if dataset.group_labels is None
        else move_columns(dataset.group_labels, target, len(places)),
        label_names=tuple(places),
        label_texts=[vocabulary.texts.get(name, name) for name in places],
        label_titles=[vocabulary.titles.get(name, name) for name in places],
        filter_pairs=pairs,
        report=dataclasses.replace(report, taken=", ".join(filter(None, (report.taken, taken)))),
    )
