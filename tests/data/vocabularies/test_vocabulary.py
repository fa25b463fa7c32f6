"""Vocabularies: SKOS and tables, languages, names and URIs, and Datasets named by them."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from multitudes.data import Dataset, LabelSpace, ReadOptions, read_dataset, read_vocabulary
from multitudes.data.vocabularies import named_by
from multitudes.errors import ConfigError, DataError, MissingExtraError

TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://x/> .
x:1 a skos:Concept ; skos:prefLabel "belts"@en, "Gürtel"@de ;
    skos:altLabel "waist bands"@en, "Gurte"@de, "Bänder"@de ; skos:notation "1.1" .
x:2 a skos:Concept ; skos:prefLabel "hats"@en, "Hüte"@de-AT .
x:3 a skos:Concept ; skos:prefLabel "shoes"@en .
x:4 a skos:Concept ; skos:prefLabel "shoes"@en .
"""


@pytest.fixture
def turtle(tmp_path: Path) -> Path:
    pytest.importorskip("rdflib")
    path = tmp_path / "v.ttl"
    path.write_text(TURTLE)
    return path


def test_names_in_a_language_or_the_nearest(turtle: Path) -> None:
    german = read_vocabulary(turtle, language="de")
    assert german.titles == {
        "http://x/1": "Gürtel",
        "http://x/2": "Hüte",
        "http://x/3": "shoes",
        "http://x/4": "shoes",
    }
    assert german.texts["http://x/1"] == "Gürtel; Bänder; Gurte"
    assert read_vocabulary(turtle).language == "en"
    with pytest.raises(DataError, match=r"v.ttl has no names in the language 'fr': known: de, "):
        read_vocabulary(turtle, language="fr")


@pytest.mark.parametrize(
    ("suffix", "kind"), [(".rdf", "xml"), (".nt", "nt"), (".jsonld", "json-ld"), ("", "turtle")]
)
def test_all_kinds_of_rdf(turtle: Path, tmp_path: Path, suffix: str, kind: str) -> None:
    rdflib = pytest.importorskip("rdflib")
    data = rdflib.Graph().parse(turtle).serialize(format=kind, encoding="utf-8")
    path = tmp_path / f"other{suffix}"
    path.write_bytes(data)
    assert read_vocabulary(path) == read_vocabulary(turtle)
    packed = tmp_path / f"packed{suffix}.gz"
    packed.write_bytes(gzip.compress(data))
    assert read_vocabulary(packed) == read_vocabulary(turtle)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.tsv", "\ufeff<http://x/1>\tbelts\t1.1\r\n\nhttp://x/2\thats\n"),
        (
            "v.csv",
            "uri,label_en,label_de,notation\nhttp://x/1,belts,Gürtel,1.1\nhttp://x/2,hats,,\n",
        ),
        (
            "v.jsonl",
            '{"uid": "http://x/1", "title": "belts"}\n{"uri": "http://x/2", "label": "hats"}',
        ),
    ],
)
def test_tables(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert read_vocabulary(path).titles == {"http://x/1": "belts", "http://x/2": "hats"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.ttl", "not turtle", "not valid RDF.*expected turtle"),
        ("v.ttl", "", "v.ttl is empty"),
        ("v.ttl", "@prefix x: <http://x/> . x:1 x:2 x:3 .", "no names of concepts"),
        ("v.rdf", "<?xml version='1.0'?><a", "not valid RDF"),
        ("v.jsonld", '{"@context": "http://evil/context"}', "nothing is loaded from elsewhere"),
        ("v.jsonld", "{", "broken JSON"),
        ("v.tsv", "no tab\n", "v.tsv:1: there is no tab"),
        ("v.csv", "a,b\n1,2\n", r"not a vocabulary \(got columns \['a', 'b'\]\)"),
        ("v.jsonl", '{"uid": "1"}\n', "v.jsonl:1: not a concept"),
        ("v.jsonl", '{"uid": "1", "title": "a", "altLabels": "b"}\n', "not a list"),
        ("v.doc", "whatever", "cannot tell what kind of vocabulary"),
        ("v.tsv", "<http://x>\t\n", "no names of concepts"),
    ],
)
def test_broken_vocabularies(tmp_path: Path, name: str, content: str, message: str) -> None:
    pytest.importorskip("rdflib")
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        read_vocabulary(tmp_path / name)


def test_invalid_utf8_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "v.tsv").write_bytes(b"<http://x/1>\ta\n<http://x/2>\tb\xff\n")
    with pytest.raises(DataError, match="v.tsv:2: invalid UTF-8"):
        read_vocabulary(tmp_path / "v.tsv")


def test_without_rdflib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    (tmp_path / "v.ttl").write_text(TURTLE)
    with pytest.raises(MissingExtraError, match=r"pip install 'multitudes\[skos\]'"):
        read_vocabulary(tmp_path / "v.ttl")


def test_labels_are_uris_and_keep_their_names(turtle: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text(
        '{"text": "a", "labels": ["http://x/1", "Hüte", "other"]}\n'
        '{"text": "b", "labels": ["Gürtel", "1.1", "shoes"]}\n'
    )
    options = ReadOptions(vocabulary=str(turtle), language="de")
    dataset = read_dataset(data, options=options)
    # A name that two concepts share says nothing.
    assert dataset.label_names == ("http://x/1", "http://x/2", "other", "shoes")
    assert dataset.label_titles == ("Gürtel", "Hüte", "other", "shoes")
    assert dataset.label_texts is not None
    assert dataset.label_texts[0] == "Gürtel; Bänder; Gurte"
    assert dataset.Y.toarray().tolist() == [[1, 1, 1, 0], [1, 0, 0, 1]]
    assert dataset.report is not None
    assert dataset.report.taken.endswith("2 of 4 labels named by v.ttl (de)")
    over = read_dataset(data, options=options, labels=LabelSpace(["http://x/2", "http://x/1"]))
    assert over.Y.toarray().tolist() == [[1, 1], [0, 1]]


def test_ids_cannot_be_named(turtle: Path) -> None:
    import scipy.sparse as sp

    dataset = Dataset(Y=sp.csr_array((1, 2)), texts=["a"])
    with pytest.raises(DataError, match="labels are ids.*label_kind='names'"):
        named_by(dataset, read_vocabulary(turtle), "v.ttl")


def test_a_language_needs_a_vocabulary() -> None:
    with pytest.raises(ConfigError, match="'de' without vocabulary"):
        ReadOptions(language="de")
