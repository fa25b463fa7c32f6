"""The words of the catalogue: topics with their labels, and what a line is made of.

The topics are in ``topics.txt``. Here is the rest: for each family of topics the line
templates, the openings, and the facets (labels such as "vintage" that any of its lines may carry).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources

Phrases = tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """A topic, its family, and its labels with the phrases that speak of them."""

    name: str
    family: str
    labels: dict[str, Phrases]


@dataclass(frozen=True)
class Family:
    """How the lines of some topics read.

    In a template, {phrase} speaks of the label, {opening} precedes it, {facets} are zero to two
    remarks, {source} is a maker, writer or house, and {place} a town.
    """

    templates: Phrases
    openings: Phrases
    sources: Phrases
    facets: dict[str, Phrases]


@functools.cache
def topics() -> tuple[Topic, ...]:
    """Return all topics, the common ones first."""
    lines = resources.files("multitudes.data.catalogue").joinpath("topics.txt").read_text("utf-8")
    found: list[Topic] = []
    for line in lines.splitlines():
        if line.startswith("== "):
            name, family = line[3:].split(" / ")
            found.append(Topic(name, family, {}))
        elif line and not line.startswith("#"):
            label, phrases = line.split(": ", 1)
            found[-1].labels[label] = tuple(phrases.split("; "))
    # As written, neighbours are akin; common and rare topics should not be.
    return tuple(found[(i * 37) % len(found)] for i in range(len(found)))


PLACES: Phrases = (
    "Sheffield", "Kyoto", "Bruges", "Porto", "Leipzig", "Galway", "Turin", "Valencia", "Aberdeen",
    "Delft", "Salem", "Tallinn", "Ghent", "Cork", "Bath", "Limoges", "Seville", "Bergen", "Lucca",
    "Halifax", "Dresden", "York", "Nantes", "Oslo", "Exeter", "Basel", "Palermo", "Truro", "Riga",
    "Utrecht", "Durham", "Toledo", "Graz", "Dundee", "Rouen", "Malmö", "Whitby", "Siena", "Brno",
    "Kendal", "Lyon", "Ludlow", "Haarlem", "Split", "Zürich", "Cádiz", "Turku", "Hobart", "Nancy",
    "Oxford", "Perth", "Vigo", "Reading", "Bremen", "Lagos", "Tours", "Deal", "Nice", "Sandwich",
    "Wells",
)  # fmt: skip

FAMILIES: dict[str, Family] = {
    "goods": Family(
        templates=(
            "{opening} {phrase}{facets}. {source}, {place}",
            "{phrase}{facets}. By {source} of {place}",
            "From {source}, {place}: {opening} {phrase}{facets}",
            "{opening} {phrase}, {place} pattern{facets}",
        ),
        openings=(
            "handsome",
            "sturdy",
            "our best",
            "classic",
            "no-nonsense",
            "elegant",
            "the ever-popular",
            "pocket-friendly",
            "well-behaved",
            "understated",
            "splendid",
            "trusty",
            "new",
            "improved",
        ),
        sources=(
            "Pemberton & Daughters",
            "Hollis Brothers",
            "Atelier Marchand",
            "The Useful Company",
            "Finch & Gower",
            "Olafsen",
            "Widow Tan's",
            "Messrs Prewitt",
            "Casa Bellini",
            "Northlight",
        ),
        facets={
            "handmade": ("made entirely by hand", "no two quite alike"),
            "second-hand": ("one careful owner", "gently used", "some honest wear"),
            "gifts": ("gift-boxed", "makes a fine present"),
            "vintage": ("from the 1960s", "a true period piece"),
            "for children": ("sized for small people", "for ages six and up"),
            "sale": ("last few, reduced", "was twice the price"),
            "waterproof": ("shrugs off rain", "tested under a waterfall"),
            "recycled": ("from reclaimed material", "had a previous life"),
            "left-handed": ("for southpaws", "mirror-made for the other hand"),
            "travel size": ("folds flat for the suitcase", "no bigger than a sandwich"),
            "professional": ("trade quality", "as the experts use"),
            "personalised": ("with your initials", "engraved while you wait"),
        },
    ),
    "parts": Family(
        templates=(
            "{phrase}{facets}. {source}, part no. {number}",
            "{phrase}, {opening}{facets}. Ships from {place}",
            "{source} {phrase} ({opening}){facets}. Made in {place}",
        ),
        openings=(
            "pair",
            "single",
            "boxed set",
            "with fixings",
            "without instructions",
            "loose",
            "kit",
            "short series",
            "pack of two",
        ),
        sources=("Ferrox", "Dynamo Werke", "Brightside Spares", "Kettering", "Orsini", "Tuffnut"),
        facets={
            "genuine": ("original manufacturer", "in the maker's own box"),
            "reconditioned": ("rebuilt and bench-tested", "stripped, cleaned, reassembled"),
            "heavy duty": ("for hard use", "rated for commercial loads"),
            "second-hand": ("off a running example", "some honest wear"),
            "imperial sizes": ("threads in inches", "Whitworth throughout"),
            "obsolete": ("no longer produced", "the last on the shelf"),
            "upgrade": ("better than it left the factory", "replaces the weak original"),
            "sale": ("overstocked, reduced", "was twice the price"),
            "universal": ("fits most models", "with adapter rings"),
            "matched pair": ("selected to match", "balanced as a couple"),
        },
    ),
    "food": Family(
        templates=(
            "{opening} {phrase}{facets}. {source}, {place}",
            "{phrase}{facets}, the way {place} likes it",
            "{source} suggests: {opening} {phrase}{facets}",
        ),
        openings=(
            "finest",
            "homely",
            "proper",
            "generous",
            "slow-made",
            "unfussy",
            "award-losing",
            "old-fashioned",
            "early",
            "fresh",
        ),
        sources=(
            "Mrs Applegarth",
            "The Larder",
            "Bottega Rossi",
            "Quayside Stores",
            "Hobb's Farm",
            "Brother Anselm",
        ),
        facets={
            "organic": ("grown without sprays", "from certified fields"),
            "vegan": ("nothing from animals", "entirely plant-based"),
            "gluten-free": ("no wheat anywhere near it", "safe for coeliacs"),
            "gifts": ("in a ribboned hamper", "makes a fine present"),
            "seasonal": ("for a few weeks only", "while the harvest lasts"),
            "spicy": ("with a slow burn", "not for the faint-hearted"),
            "smoked": ("over beechwood", "twelve hours in the smokehouse"),
            "low sugar": ("sweetened with a light hand", "less sweet than it sounds"),
            "family size": ("feeds a crowd", "the big one"),
            "fair trade": ("growers paid properly", "bought from cooperatives"),
        },
    ),
    "books": Family(
        templates=(
            "{opening} {phrase}{facets} / {source}. - {place}, {year}",
            "{source}: {phrase}{facets}. {place}, {year}",
            "{phrase}: studies and sources{facets} / {source}. - {place}",
        ),
        openings=(
            "a short history of",
            "notes on",
            "understanding",
            "the companion to",
            "all about",
            "reflections on",
            "an introduction to",
            "the trouble with",
            "in praise of",
            "a life among",
        ),
        sources=(
            "A. Okafor",
            "M. Lindqvist",
            "J. P. Thistlewood",
            "R. and E. Banerjee",
            "Sister Agnes",
            "H. van der Meer",
            "C. Moreau",
            "L. Fitzgibbon",
            "T. Nakamura",
            "E. Ashdown",
        ),
        facets={
            "illustrated": ("with forty plates", "pictures on every page"),
            "handbook": ("a practical guide", "for the working reader"),
            "biography": ("a life and its letters", "with family papers"),
            "for children": ("for young readers", "told simply, with dragons"),
            "textbook": ("with exercises and answers", "for second-year students"),
            "large print": ("set in eighteen point", "easy on the eyes"),
            "essays": ("collected pieces", "eleven digressions"),
            "translation": ("translated from the German", "first time in English"),
            "conference papers": ("proceedings of a symposium", "papers read at a congress"),
            "second-hand": ("foxed, otherwise sound", "previous owner disagreed in pencil"),
            "bibliography": ("an annotated list of sources", "with index of works"),
            "fiction": ("a novel", "a story in three parts"),
        },
    ),
    "stage": Family(
        templates=(
            "{phrase}, with {source}{facets}. {place}, {day}",
            "{day} in {place}: {phrase}{facets}",
            "{source} presents {opening} evening of {phrase}{facets}. {place}",
        ),
        openings=(
            "an unforgettable",
            "a modest",
            "an uneven",
            "a rousing",
            "a candle-lit",
            "a long",
            "another",
            "an award-winning",
        ),
        sources=(
            "the Harbour Players",
            "Ilse Brandt",
            "The Municipal Ensemble",
            "Old Sal Mercer",
            "the Lantern Company",
            "Duo Ferrante",
        ),
        facets={
            "free entry": ("no ticket needed", "pay what you like"),
            "matinee": ("afternoon performance", "home in time for tea"),
            "for children": ("wriggling allowed", "for ages six and up"),
            "premiere": ("never heard before", "first performance anywhere"),
            "festival": ("part of the summer season", "on the big outdoor stage"),
            "lecture": ("with an illustrated talk", "introduced by the curator"),
            "sold out": ("returns only", "queue early for cancellations"),
            "workshop": ("bring your own and join in", "hands-on for beginners"),
            "charity": ("in aid of the lifeboats", "all proceeds to the hospice"),
        },
    ),
    "outdoors": Family(
        templates=(
            "{phrase}{facets}. With {source}, from {place}",
            "{opening}: {phrase}{facets}. Meet in {place}",
            "{source} on {phrase}{facets}",
        ),
        openings=(
            "weekend walk",
            "field notes",
            "a day out",
            "the warden's diary",
            "guided tour",
            "what to see this month",
            "reader's letter",
            "slow journey",
        ),
        sources=(
            "ranger Moss",
            "Dr Perpetua Lane",
            "the Naturalists' Club",
            "Captain Ives",
            "our correspondent",
            "Uncle Bertil",
        ),
        facets={
            "for photographers": ("bring the long lens", "with hides for cameras"),
            "for children": ("pushchairs welcome", "for ages six and up"),
            "night": ("after dark by red torch", "starts at midnight"),
            "winter": ("wrap up warm", "in snow if we are lucky"),
            "conservation": ("volunteers needed", "helping to count what is left"),
            "easy walking": ("flat all the way", "benches at intervals"),
            "endangered": ("while they are still here", "one of the last strongholds"),
            "boat trip": ("life jackets provided", "by small open launch"),
            "free entry": ("no ticket needed", "pay what you like"),
            "identification": ("how to tell them apart", "with a key to species"),
        },
    ),
}
