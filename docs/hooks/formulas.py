r"""Formulas of the pages as MathML: rendered when the site is built, without a script, offline.

`pymdownx.arithmatex` marks a formula as ``<span class="arithmatex">\(...\)</span>``, or as a
``<div>`` with ``\[...\]`` if it stands on a line of its own. Browsers show MathML as it is.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas in the HTML of a page."""
    return FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["tag"] == "div" else "inline"
    latex = html.unescape(found["latex"]).strip()
    rendered = convert(latex, display=display)
    return f'<{found["tag"]} class="formula">{rendered}</{found["tag"]}>'
