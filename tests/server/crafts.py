"""A small vocabulary and texts about its subjects, for Annif and for us."""

from __future__ import annotations

from pathlib import Path

from multitudes import Tagger

EXAMPLE = "http://example.org/"
BELTS, LEATHER, DRESS, SPOONS = (EXAMPLE + name for name in ("belts", "leather", "dress", "spoons"))
VOCABULARY = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/> .
ex:belts a skos:Concept ; skos:prefLabel "belts"@en, "vyöt"@fi ; skos:notation "42.1" .
ex:leather a skos:Concept ; skos:prefLabel "leather"@en, "nahka"@fi ; skos:notation "42" .
ex:dress a skos:Concept ; skos:prefLabel "dress"@en, "puku"@fi .
ex:spoons a skos:Concept ; skos:prefLabel "spoons"@en, "lusikat"@fi ; skos:notation "7" .
"""
TEXTS: dict[str, list[str]] = {
    "Leather belts of the Bronze Age": [BELTS, LEATHER],
    "A history of tanning leather": [LEATHER],
    "Buckles and belts in medieval dress": [BELTS, DRESS],
    "Silver spoons and how they were made": [SPOONS],
    "Wooden spoons of Finland": [SPOONS],
    "Dress of the Middle Ages": [DRESS],
}
# In Annif's short form.
CORPUS = "".join(
    f"{text}\t{' '.join(f'<{uri}>' for uri in uris)}\n" for text, uris in TEXTS.items()
)


def crafts_tagger() -> Tagger:
    """A model of the texts, whose labels are URIs."""
    return Tagger("one-vs-all", n_jobs=1).fit(list(TEXTS), list(TEXTS.values()))


def crafts_vocabulary(folder: Path) -> Path:
    """The vocabulary as a file."""
    path = folder / "crafts.ttl"
    path.write_text(VOCABULARY, "utf-8")
    return path
