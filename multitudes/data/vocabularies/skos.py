"""SKOS vocabularies in RDF, read with rdflib."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from multitudes.data.compression import open_bytes, read_whole
from multitudes.data.report import excerpt
from multitudes.data.vocabularies.concepts import UNTAGGED, Concept
from multitudes.errors import DataError, require
from multitudes.progress import track

_ENTITY = re.compile(rb"<!ENTITY\s+(?:%\s+)?\S+\s+(\"[^\"]*\"|'[^']*')")
_BYTES_PER_BYTE = 10  # of memory, per byte of a file: a graph has an index in each direction


def read_skos_concepts(path: Path, kind: str) -> dict[str, Concept]:
    """Return the concepts of an RDF file by URI.

    Names are ``skos:prefLabel``, or ``rdfs:label`` if the file has none; alternative names are
    ``skos:altLabel``. Nothing is loaded from elsewhere.

    Parameters
    ----------
    path : Path
        The file, compressed or not.
    kind : str
        The RDF format, as rdflib calls it: "turtle", "xml", "nt", "json-ld".
    """
    rdflib = require("rdflib", extra="skos")
    with track(f"reading {path.name}"):
        graph = _graph(path, kind, rdflib)
    skos = rdflib.SKOS
    concepts: dict[str, Concept] = {}
    for predicate in (skos.prefLabel, rdflib.RDFS.label):
        for subject, _, name in sorted(graph.triples((None, predicate, None))):
            if isinstance(subject, rdflib.URIRef) and str(name).strip():
                concept = concepts.setdefault(str(subject), Concept())
                concept.titles.setdefault(_language(name), str(name).strip())
        if concepts:
            break
    for subject, _, name in sorted(graph.triples((None, skos.altLabel, None))):
        if str(subject) in concepts and str(name).strip():
            alternatives = concepts[str(subject)].alternatives
            alternatives.setdefault(_language(name), []).append(str(name).strip())
    for subject, _, notation in graph.triples((None, skos.notation, None)):
        if str(subject) in concepts:
            concepts[str(subject)].notations.append(str(notation))
    return concepts


def _language(name: Any) -> str:
    return (getattr(name, "language", None) or UNTAGGED).lower()


def _graph(path: Path, kind: str, rdflib: Any) -> Any:
    with open_bytes(path) as stream:
        data = read_whole(stream, path, factor=_BYTES_PER_BYTE)
    if not data.strip():
        raise DataError(f"{path} is empty; expected a vocabulary")
    if kind == "json-ld":
        _refuse_remote_contexts(path, data)
    if kind == "xml":
        _refuse_nested_entities(path, data)
    graph = rdflib.Graph()
    try:
        graph.parse(data=data, format=kind)
    except Exception as error:
        what = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(
            f"{path}: not valid RDF of the kind that its name says ({what[0][:200]}); expected "
            f"{kind}: correct the file, or its suffix"
        ) from error
    return graph


def _refuse_nested_entities(path: Path, data: bytes) -> None:
    """Refuse XML entities that name others: a few lines of them become millions of words."""
    plain = data.replace(b"\0", b"")  # of UTF-16, too
    for entity in _ENTITY.finditer(plain):
        if b"&" in entity[1] or b"%" in entity[1]:
            line = plain.count(b"\n", 0, entity.start()) + 1
            raise DataError(
                f"{path}:{line}: an entity is made of other entities (got "
                f"{excerpt(entity[0].decode(errors='replace'))}); expected plain text in each: "
                "write them out, or convert the file to Turtle"
            )


def _refuse_remote_contexts(path: Path, data: bytes) -> None:
    """Refuse JSON-LD that would be completed from the network while it is read."""
    try:
        waiting = [orjson.loads(data)]
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: broken JSON ({error})") from error
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            contexts = value.get("@context", [])
            for context in contexts if isinstance(contexts, list) else [contexts]:
                if isinstance(context, dict):
                    context = context.get("@import")
                if isinstance(context, str):
                    raise DataError(
                        f"{path}: its @context is at {context[:100]!r}, and nothing is loaded from "
                        "elsewhere; expected the context itself: put it into the file, or convert "
                        "the file to Turtle"
                    )
            waiting += value.values()
