"""Texts, their labels and what is behind each, as a page for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from multitudes import views

if TYPE_CHECKING:
    from multitudes.tagger import Tag, Tagger

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 0.5rem }}
details {{ margin: 0.25rem 0 0.75rem }}
table {{ display: block; overflow-x: auto }}
</style>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def write_page(
    path: Path, tagger: Tagger, texts: list[str], tagged: list[list[Tag]], *, title: str
) -> None:
    """Write a page with each text, its labels, and an explanation of each label."""
    from multitudes.data.compression import open_write

    parts = []
    for text, tags in zip(texts, tagged, strict=True):
        parts.append(f"<h2>{views.escaped(text or '(empty)')}</h2>")
        parts += [_label(tagger, text, tag) for tag in tags] or ["<p>(no labels)</p>"]
    content = PAGE.format(title=views.escaped(title), body="\n".join(parts))
    with open_write(path) as file:
        file.write(content.encode())


def _label(tagger: Tagger, text: str, tag: Tag) -> str:
    """Return a label that opens to show what is behind it."""
    head = views.weighted(tag.label, tag.score, largest=1.0, form=".3f")
    why = tagger.explain(text, tag.label)._repr_html_()
    return f"<details open><summary>{head}</summary>{why}</details>"
