"""What fields and columns are usually called: the text, the labels, the uid, the groups.

Names are compared without case, and with one space for blanks, underscores and hyphens:
``Product Name``, ``product_name`` and ``PRODUCT-NAME`` are the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

from multitudes.data.options import ReadOptions
from multitudes.errors import suggestion

# In the order in which the parts of a text are joined.
TEXTS = (
    "title", "headline", "name", "summary", "abstract", "description", "content", "body", "text",
    "sentence", "document",
)  # fmt: skip
LABELS = (
    "labels", "target ind", "label", "tags", "tag", "categories", "category", "topics", "keywords",
    "subjects", "subject uris", "genres",
)  # fmt: skip
UIDS = ("uid", "id", "document id")
GROUPS = ("group", "groups")

# Words that may stand before the name of a text: the name of a product is a text, but that of a
# user or of a file is not.
_QUALIFIERS = {
    "product", "item", "article", "paper", "book", "movie", "film", "post", "page", "news", "job",
    "course", "event", "question", "review", "document", "doc", "main", "full", "short", "long",
}  # fmt: skip
_BREAK = re.compile(r"[\s_\-]+")
N_LISTED = 30


@functools.lru_cache(maxsize=10_000)
def normalized(name: str) -> str:
    """Return a name as it is compared: in lower case, with single spaces between words."""
    return _BREAK.sub(" ", name.strip().lower())


@functools.lru_cache(maxsize=10_000)
def text_rank(name: str) -> int | None:
    """Return the place of a text among the parts of an instance; None if it is not usual."""
    words = normalized(name)
    first, _, rest = words.partition(" ")
    if words not in TEXTS and first in _QUALIFIERS:
        words = rest
    return TEXTS.index(words) if words in TEXTS else None


def is_usual(name: str) -> bool:
    """Return whether a field of this name usually holds a text or labels."""
    return text_rank(name) is not None or normalized(name) in LABELS


def usual_texts(names: Sequence[str], taken: Collection[str | None] = ()) -> list[str]:
    """Return the names that usually hold texts, in the order in which they are joined."""
    found = [name for name in names if text_rank(name) is not None and name not in taken]
    return sorted(found, key=lambda name: (text_rank(name), normalized(name), name))


def usual_name(names: Iterable[str], usual: Sequence[str]) -> str | None:
    """Return the first name that is one of the `usual` ones, by the order of those."""
    by_name: dict[str, str] = {}
    for name in sorted(names):
        by_name.setdefault(normalized(name), name)
    return next((by_name[one] for one in usual if one in by_name), None)


def asked_texts(options: ReadOptions, names: Collection[str] = ()) -> tuple[str, ...]:
    """Return the text columns that were asked for: one, several, or several with commas."""
    asked = options.text_column
    if asked is None:
        return ()
    if isinstance(asked, tuple):
        return asked
    if asked in names or "," not in asked:
        return (asked,)
    return tuple(part for name in asked.split(",") if (part := name.strip()))


def matching_name(asked: str, names: Sequence[str]) -> str | None:
    """Return the column that was asked for, by name or by number from 0; None if there is none."""
    if asked in names:
        return asked
    if asked.isascii() and asked.isdigit() and int(asked) < len(names):
        return names[int(asked)]
    return next((name for name in names if normalized(name) == normalized(asked)), None)


def listed(names: Sequence[str]) -> str:
    """Return all names for a message, the first of them if they are very many."""
    shown = ", ".join(repr(name[:60]) for name in names[:N_LISTED])
    return f"[{shown}, ... ({len(names):,} in all)]" if len(names) > N_LISTED else f"[{shown}]"


def nearest(asked: str, names: Sequence[str]) -> str:
    """Return which of the names was probably meant."""
    return suggestion(asked, names) if len(names) <= N_LISTED else ""


def join_parts(*parts: str) -> str:
    """Join the parts of a text with a space between them, without those that are empty."""
    return " ".join(filter(None, parts))
