"""Everybody can use the page: axe finds nothing, the keyboard reaches all, a phone shows all."""

from __future__ import annotations

import pytest

from tests.page.browsing import go_to, names, open_label, opened, type_text, upload

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")


def assert_clean(page, state: str) -> None:
    found = axe.AxeResults(page.evaluate("axe.run({ resultTypes: ['violations'] })"))
    assert found.violations_count == 0, f"{state}: {found.generate_report()}"
    width = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert width <= 0, f"{state}: the page is {width} pixels too wide"


def walk(page):
    """Every state of the page, one after the other."""
    yield "empty"
    type_text(page)
    yield "labels"
    open_label(page)
    yield "an opened label"
    page.check("[value=set]")
    page.wait_for_selector("#lists:not([aria-busy])")
    yield "a set"
    page.check("[value=many]")
    page.wait_for_selector(".tag >> nth=9")
    label = names(page)[0]
    page.click(f"[aria-label='Accept {label}']")
    page.fill("#add", "c")
    page.wait_for_selector("#add-options li >> nth=2")
    yield "corrections and suggestions"
    page.select_option("#other", "plain words")
    page.wait_for_selector(".list:nth-child(2) .tag")
    yield "two models"
    upload(page, "#file", "x.pdf", b"no PDF")
    page.wait_for_selector("#alarm:visible")
    yield "an error"
    go_to(page, "table")
    yield "no table"
    upload(
        page, "#table input[type=file]", "a.csv", b"id,title\n1,E-type bonnet catch, Coventry\n" * 8
    )
    page.click("#table button.strong:visible")
    page.wait_for_selector("text=Download CSV")
    yield "a labeled table"
    go_to(page, "model")
    page.wait_for_selector(".facts")
    yield "the card"
    go_to(page, "corrections")
    page.wait_for_selector("#corrections .panel")
    yield "past corrections"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_state_has_a_violation(browser, served, scheme, width):
    with opened(browser, served.url, width=width, color_scheme=scheme) as page:
        page.evaluate(axe.Axe().axe_script)  # once: it is large
        for state in walk(page):
            assert_clean(page, f"{state}, {scheme}, {width} pixels")


def test_the_keyboard_reaches_everything(page):
    """From a text to a sent correction without a mouse, in the order in which things are seen."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.type("E-type bonnet catch")
    page.wait_for_selector(".tag >> nth=9")
    passed = []
    while "tag-open" not in passed:
        page.keyboard.press("Tab")
        passed.append(
            page.evaluate("(e => e.id || e.value || e.className)(document.activeElement)")
        )
        assert len(passed) < 12, passed
    assert [one for one in passed if one in ("open-file", "clear", "other", "many")] == [
        "open-file", "clear", "other", "many",
    ]  # fmt: skip
    page.keyboard.press("Enter")
    page.wait_for_selector(".inside")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.get_attribute(".verdict >> nth=0", "aria-pressed") == "true"


def test_a_view_begins_at_its_title(page):
    page.focus("#views a[href='#model']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-model:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "model-title"
    assert page.get_attribute("#views [aria-current]", "href") == "#model"


def test_nothing_moves_for_those_who_do_not_want_it(page):
    bar = ".tag .bar > span >> nth=0"
    lasting = "e => getComputedStyle(e).transitionDuration"
    type_text(page)
    assert page.eval_on_selector(bar, lasting) == "0s"
    page.emulate_media(reduced_motion="no-preference")
    assert page.eval_on_selector(bar, lasting) == "0.2s"
    page.emulate_media(reduced_motion="reduce")
