"""The site: every page can be reached, and the picture of the home page is of today's model."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.docs.site import DOCS, PAGES, configured, page_name, rendered


def named_in(navigation) -> list[str]:
    """The files of a navigation, its sections included."""
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [name for part in parts for name in named_in(part)]


def test_every_page_is_in_the_navigation_once():
    named = named_in(configured()["nav"])
    assert sorted(named) == sorted(f"{page_name(page)}.md" for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_to_headings_lead_to_headings(page):
    for path, heading in re.findall(r"\]\(([\w./-]*\.md)#([\w-]+)\)", page.read_text("utf-8")):
        target = (page.parent / path).resolve()
        assert f'id="{heading}"' in rendered(target), f"{path}#{heading}"


def test_the_picture_shows_what_the_model_finds():
    made = runpy.run_path(str(DOCS / "figures" / "home.py"))["picture"]()
    shown = (DOCS / "figures" / "home.svg").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in shown
    words = re.compile(r">([^<>{}\d]+)</text>")
    assert words.findall(made) == words.findall(shown)
    assert made.count("<circle") == shown.count("<circle")
