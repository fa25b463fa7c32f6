"""A server that wants a key: the page asks for it, and forgets it with its tab."""

from __future__ import annotations

import pytest

from multitudes.server import Limits
from multitudes.server.access.access import Access
from multitudes.server.access.keys import Keys
from tests.page.browsing import go_to, opened, type_text
from tests.server.serving import serving

KEY = "a key that nobody guesses"
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")


def test_the_page_asks_for_a_key(browser, taggers):
    access = Access(keys=Keys.of([KEY]))
    limits = Limits(max_top_k=7, grace_seconds=1)
    with (
        serving(taggers["catalogue"], limits, access=access) as server,
        opened(browser, server.url, is_ready="#key:visible") as page,
    ):
        assert page.evaluate("document.activeElement.id") == "key-value"
        assert axe.Axe().run(page).violations_count == 0
        page.fill("#key-value", "a key that is not known")
        page.press("#key-value", "Enter")
        page.wait_for_selector("text=The server did not take that key.")
        page.fill("#key-value", KEY)
        page.press("#key-value", "Enter")
        page.wait_for_selector("body[data-ready]")
        assert not page.is_visible("#key")
        type_text(page)
        assert len(page.query_selector_all(".tag")) == 7, "as many as the server gives"
        page.reload()
        page.wait_for_selector("body[data-ready]")
        go_to(page, "model")
        page.wait_for_selector(".facts")
        assert page.evaluate("[document.cookie, localStorage.length]") == ["", 0]
