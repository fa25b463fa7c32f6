"""The page that describes the API, in a browser."""

from __future__ import annotations

import pytest

from tests.page.browsing import opened


@pytest.mark.parametrize("width", [1280, 390])
def test_addresses_are_described_and_can_be_tried(browser, served, width):
    with opened(browser, served.url, width=width) as page:
        page.goto(f"{served.url}/docs")
        page.wait_for_selector("details")
        asked = page.locator("details", has=page.locator("code", has_text="POST /v1/predict"))
        asked.locator("summary").click()
        asked.locator("textarea").fill('{"texts": ["a leather belt"], "top_k": 1}')
        asked.get_by_role("button", name="Try it").click()
        page.wait_for_selector("pre:visible")
        assert asked.locator("pre").inner_text().startswith('200\n{\n "predictions"')
        assert page.failures == []
        too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert too_wide <= 0
