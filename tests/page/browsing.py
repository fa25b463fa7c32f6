"""Debian's Chromium, and a page in it that may not fail unnoticed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
READY = "body[data-ready]"
TEXT = "E-type bonnet catch, Coventry pattern, and a finest hand-blown champagne flute from Porto"


@contextmanager
def browsing() -> Iterator[object]:
    """A browser, or a skipped test that says what is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(
    browser, url: str, *, width: int = 1280, is_ready: str = READY, **options
) -> Iterator[object]:
    """The page at an address, in a session of its own; errors of its scripts are errors."""
    size = {"width": width, "height": 860}
    context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.failures = failures = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("console", lambda said: failures.append(said.text) if _is_failure(said) else None)
    show(page, url, is_ready)
    yield page
    assert failures == []
    context.close()


def show(page, url: str, is_ready: str = READY) -> None:
    """Open the page anew."""
    page.goto(url)
    page.wait_for_selector(is_ready)


def _is_failure(said) -> bool:
    """Whether a script failed, or tried what the page's policy forbids; refusals are shown."""
    return said.type == "error" and "Failed to load resource" not in said.text


def type_text(page, text: str = TEXT) -> None:
    """Fill in a text and wait for its labels."""
    page.fill("#text", text)
    page.wait_for_selector(".tag >> nth=0")
    page.wait_for_selector("#lists:not([aria-busy])")


def names(page, within: str = "#lists") -> list[str]:
    """The labels that are shown, without remarks."""
    return [row.get_attribute("data-label") for row in page.query_selector_all(f"{within} .tag")]


def open_label(page, place: int = 0) -> None:
    """Open one of the labels, and wait for all that is known about it."""
    page.click(f".tag-open >> nth={place}")
    page.wait_for_selector(".inside-rest h3")
    page.wait_for_selector(".inside-part:first-child h3")


def go_to(page, view: str) -> None:
    page.click(f"#views a[href='#{view}']")
    page.wait_for_selector(f"#view-{view}:not([hidden])")


def upload(page, selector: str, name: str, content: bytes) -> None:
    """Choose a file, as the button beside the field does."""
    page.set_input_files(selector, files=[{"name": name, "mimeType": "", "buffer": content}])


def until(page, check: Callable[[], bool]) -> None:
    """Wait for something; Playwright's own way of that evaluates code, which the page forbids."""
    ended = time.monotonic() + 10
    while not check():
        assert time.monotonic() < ended, "it did not happen in time"
        page.wait_for_timeout(20)
