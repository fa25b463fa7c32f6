"""What notebooks show: small tables, and words colored by weight.

Plain tags with inline styles, no scripts and no style sheets, because notebooks, GitHub and mail
keep different parts of HTML. Colors are translucent, so that they work on dark backgrounds, and
every color stands beside its number.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

FOR, AGAINST = "46, 160, 67", "229, 83, 75"  # red, green, blue
FAINTEST, STRONGEST = 0.08, 0.6  # opacity
CELL = "padding: 2px 10px 2px 0; vertical-align: top; text-align: {align}"
TABLE = "border-collapse: collapse; color: inherit; font-size: inherit"
MUTED = "opacity: 0.65"
MAX_ROWS = 20


class Html(str):
    """A string that is HTML already, and is not escaped again."""

    __slots__ = ()


def escaped(value: object) -> Html:
    """Return a value as HTML that shows it as it is."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def joined(parts: Iterable[object], between: str = " ") -> Html:
    """Return several values one after the other."""
    return Html(between.join(escaped(part) for part in parts))


def muted(value: object) -> Html:
    """Return a value that steps back."""
    return Html(f'<span style="{MUTED}">{escaped(value)}</span>')


def bold(value: object) -> Html:
    """Return a value in bold type."""
    return Html(f"<b>{escaped(value)}</b>")


def paragraph(*parts: object) -> Html:
    """Return a line of text."""
    return Html(f'<div style="margin: 2px 0">{joined(parts)}</div>')


def weighted(word: object, value: float, *, largest: float, form: str = "+.2f") -> Html:
    """Return a word with its weight, green for and red against, the stronger the more opaque.

    Parameters
    ----------
    word : str
    value : float
    largest : float
        The weight whose color is strongest.
    form : str
        How the weight is written.
    """
    share = min(abs(value) / largest, 1.0) if largest > 0 else 0.0
    opacity = FAINTEST + share * (STRONGEST - FAINTEST)
    color = f"rgba({FOR if value >= 0 else AGAINST}, {opacity:.2f})"
    style = (
        f"background: {color}; border-radius: 3px; padding: 0 4px; margin-right: 3px; "
        "display: inline-block"
    )
    return Html(f'<span style="{style}">{escaped(word)} <small>{value:{form}}</small></span>')


def weighted_words(words: Iterable[tuple[Any, float]]) -> Html:
    """Return words with their weights, colored by the largest among them."""
    listed = list(words)
    largest = max((abs(value) for _, value in listed), default=0.0)
    return joined([weighted(word, value, largest=largest) for word, value in listed], "")


def table(header: Sequence[object], rows: Iterable[Sequence[object]], *, left: int = 1) -> Html:
    """Return a table.

    Parameters
    ----------
    header : sequence of str
        The names of the columns; an empty one leaves the header out.
    rows : iterable of sequences
        Values are escaped, unless they are `Html`.
    left : int
        How many of the columns are words, and are aligned left; the others are numbers.
    """
    aligned = ["left"] * left + ["right"] * max(len(header) - left, 0)
    lines = [_row(header, "th", aligned)] if header else []
    lines += [_row(row, "td", aligned) for row in rows]
    return Html(f'<table style="{TABLE}">{"".join(lines)}</table>')


def _row(cells: Sequence[object], tag: str, aligned: Sequence[str]) -> str:
    parts = []
    for number, cell in enumerate(cells):
        align = aligned[number] if number < len(aligned) else "left"
        parts.append(f'<{tag} style="{CELL.format(align=align)}">{escaped(cell)}</{tag}>')
    return f"<tr>{''.join(parts)}</tr>"


def others(n: int, shown: int, what: str) -> Html:
    """Return a remark on what a view leaves out, if it leaves out anything."""
    return paragraph(muted(f"... and {n - shown:,} other {what}")) if n > shown else Html()


class Listing(list[T]):
    """A list that prints one item per line, and that notebooks show as a table."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        items: list[Any] = list(self)
        if items and hasattr(items[0], "_fields"):  # named tuples
            rows = [[_short(value) for value in item] for item in items]
            return table(items[0]._fields, rows)
        return "".join(
            item._repr_html_() if hasattr(item, "_repr_html_") else paragraph(item)
            for item in items
        )


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
