"""Edge cases written by hand, by corpus."""

# ruff: noqa: E501 - files are shown as they are

from __future__ import annotations

_CONCEPTS = b"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://a/1> a skos:Concept ; skos:prefLabel "cats"@en, "Katzen"@de ; skos:altLabel "felines"@en .
<http://a/2> a skos:Concept ; skos:prefLabel "dogs"@en ; skos:broader <http://a/1> .
<http://a/3> a skos:Concept ; skos:prefLabel "birds" ; skos:broader <http://a/2>, <http://a/1> .
"""
_RDF = b"""<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="http://a/1"><skos:prefLabel xml:lang="en">cats</skos:prefLabel></skos:Concept>
<rdf:Description rdf:about="http://a/2"><rdf:type
 rdf:resource="http://www.w3.org/2004/02/skos/core#Concept"/>
<skos:prefLabel xml:lang="en">dogs</skos:prefLabel><skos:broader rdf:resource="http://a/1"/>
</rdf:Description></rdf:RDF>
"""
_NT = b"""<http://a/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2004/02/skos/core#Concept> .
<http://a/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "cats"@en .
<http://a/2> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2004/02/skos/core#Concept> .
<http://a/2> <http://www.w3.org/2004/02/skos/core#prefLabel> "d\\u00F6gs"@en .
"""
_JSONLD = b"""{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#", "prefLabel": {"@id":
"skos:prefLabel", "@language": "en"}}, "@graph": [{"@id": "http://a/1", "@type": "skos:Concept",
"prefLabel": "cats"}, {"@id": "http://a/2", "@type": "skos:Concept", "skos:prefLabel":
[{"@value": "dogs", "@language": "en"}], "skos:broader": {"@id": "http://a/1"}}]}
"""
_BILLION = b"""<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">
<!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;">
<!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;"><!ENTITY h "&g;&g;&g;&g;&g;&g;&g;&g;">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><a>&h;</a></rdf:RDF>"""

CONTENTS: dict[str, tuple[bytes, ...]] = {
    "json-lines": (
        b'{"text": "a b", "labels": ["x", "y"]}\n{"text": "c", "labels": []}\n',
        b'{"title": "a", "content": "b", "target_ind": [0, 3], "uid": "q"}\n{"title": "c", "target_ind": [1]}\n',
        b'{"text": "a", "labels": [1, 2]}\r\n{"text": "b", "labels": [2147483646]}\r\n',
        b'[{"text": "a", "labels": "x"}, {"text": "b", "labels": ["y"]}]',
        b'\xef\xbb\xbf{"text": "\\ud83d\\ude00", "tags": [{"label": "a"}]}\n\n{"text": null}\n',
        b'{"text": "a", "labels": ["x"], "group": "g"}\n{"text": "b", "labels": [], "group": ["g", "h"]}\n',
    ),
    "csv": (
        b'text,labels\na,b\n"c, d","e;f"\n',
        b"id;title;description;tags\n1;a;b;x|y\n2;c;;\n",
        b'text,labels\n"two\nlines","[""a"", ""b""]"\n',
        b"a,1\nb,2;3\n",
        b"\xef\xbb\xbftext,labels,group\r\na,x,g\r\nb,,\r\n",
        b"text,labels\na,\"['x', 'y']\"\nb,<http://a/1> <http://a/2>\n",
    ),
    "tsv": (b"text\tlabels\na\tb;c\nd\t\n", b"a\t1 2\nb\t3\n", b"uid\ttext\tlabel\n1\tx y\tz\n"),
    "fasttext": (b"__label__a __label__b some text\nno label\n", b"text __label__x\n__label__\n"),
    "annif-tsv": (
        b"some text\t<http://a/1> <http://a/2>\nmore\t\n",
        b"x\t<http://a/1>\n",
        b"x\t<http://a>\ty\n",
    ),
    "sparse-text": (
        b"2 5 3\n0,2 1:0.5 4:2\n1 0:1\n",
        b"0,1 1:1 2:2\n 1:3\n2 \n",
        b"1 2:0.5 # note\n-1 1:1\n",
        b"3 4 2\n\n0 1:1\n1 3:-2e-3\n",
    ),
    "lines": (b"a text\nanother one\n\n", b"one"),
    "group-labels": (
        b'{"group": "g", "labels": ["x", "x", "y"]}\n{"group": "h", "labels": []}\n',
        b'{"group": 1, "labels": [0, 1]}\n{"group": "h", "labels": ["x"]}\n',
    ),
    "instance-groups": (
        b'{"group": "g"}\n{"group": ["g", "h"]}\n{}\n{"group": []}\n{"groups": "h"}\n{}\n',
        b'{"group": "g"}\n' * 6,
    ),
    "vocabulary-ttl": (_CONCEPTS, _CONCEPTS.replace(b"cats", b'"""cats"""')),
    "vocabulary-rdf": (_RDF, _BILLION),
    "vocabulary-nt": (_NT,),
    "vocabulary-jsonld": (
        _JSONLD,
        b'[{"@id": "http://a/1", "@type": ["http://www.w3.org/2004/02/skos/core#Concept"]}]',
    ),
    "vocabulary-tsv": (
        b"uri\tlabel\nhttp://a/1\tcats\nhttp://a/2\tdogs\n",
        b"<http://a/1>\tcats\n<http://a/2>\tdogs\n",
    ),
    "vocabulary-csv": (
        b"uri,label_en,notation\nhttp://a/1,cats,12\nhttp://a/2,dogs,\n",
        b"uri,label\na,b\n",
    ),
    "vocabulary-jsonl": (
        b'{"uri": "http://a/1", "label": "cats"}\n{"uri": "http://a/2", "label": "dogs"}\n',
    ),
    "vectors-text": (
        b"2 3\ncat 0.1 0.2 0.3\ndog 1 2 3\n",
        b"cat 0.1 0.2\ndog 1 2\nword 1e-3 -5\n",
        b"1 100000\ncat" + b" 1" * 50 + b"\n",
        b"\xef\xbb\xbf3 2\r\ncat 1 2\r\nDog 3 4\r\nword\t5\t6\r\n",
    ),
    "vectors-binary": (b"1 100000\ncat ", b"500000 100000\ncat " + b"\x00" * 40),
    "label-list": (b"belts\na,b\n", b"\xef\xbb\xbfbelts\r\n\r\nunknown\r\n", b"a,b"),
    "predictions-lines": (
        b'{"uid": "u0", "labels": [{"label": "belts", "score": 0.93}, {"label": "a,b", "score": 0.4}]}\n'
        b'{"uid": "u1", "labels": []}\n{"uid": "u4", "labels": ["a,b"]}\n'
        b'{"uid": "u2", "labels": [["belts", 1]]}\n{"uid": "u3", "labels": []}\n',
        b'{"row": 0, "labels": [1, 0]}\n{"row": 1, "labels": []}\n{"row": 2, "labels": [2]}\n'
        b'{"row": 3, "labels": [[4, 0.5]]}\n{"row": 4, "labels": []}\n',
        b'{"labels": [0, 2147483646]}\n' * 5,
        b'{"labels": ["x"]}\n{"labels": [{"label": "y"}]}\n{"labels": []}\n{"labels": []}\n{"labels": []}\n',
    ),
    "predictions-csv": (
        b'uid,rank,label,score\nu0,1,belts,0.9\nu0,2,"a,b",0.5\nu1,1,belts,0.1\nu2,,,\nu3,,,\nu4,,,\n',
        b"row,rank,label,score\n0,1,belts,0.9\n1,1,belts,0.1\n2,1,belts,1\n3,1,belts,1\n4,1,belts,1\n",
        b"uid,label,score\nu0,0,1\nu1,1,1\nu2,2,1\nu3,3,1\nu4,4,1\n",
    ),
    "predictions-tsv": (
        b"uid\trank\tlabel\tscore\nu0\t1\tbelts\t0.9\nu1\t1\tbelts\t0.1\nu2\t1\tx\t0\nu3\t1\ty\t0\nu4\t1\tz\t1\n",
    ),
    "filter": (b"0 1\n2 0\n", b"", b"0 0\n\n1 1\n"),
    "modules": (
        b'[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},'
        b' {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]',
        b'[{"idx": 0, "name": "0", "path": "../..", "type": "x.Transformer"}]',
    ),
}
