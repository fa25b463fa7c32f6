"""Labels are accepted, rejected and added; the server keeps that, and shows it again."""

from __future__ import annotations

import json

from tests.page.browsing import TEXT, go_to, names, opened, type_text, until
from tests.server.serving import serving


def test_corrections_are_kept_shown_and_exported(page, corrections):
    type_text(page)
    right, wrong = names(page)[:2]
    page.click(f"[aria-label='Accept {right}']")
    page.click(f"[aria-label='Reject {wrong}']")
    assert page.get_attribute(f"[aria-label='Reject {wrong}']", "aria-pressed") == "true"
    page.fill("#add", "furn")
    page.wait_for_selector("#add-options li:has-text('furniture')")
    page.press("#add", "Enter")
    page.click("text=Send 3 corrections")
    page.wait_for_selector("text=Sent. Thank you.")
    assert not page.is_visible("text=Discard")
    kept = json.loads(corrections.read_text("utf-8").splitlines()[-1])
    assert (kept["text"], kept["model"]) == (TEXT, "catalogue")
    verdicts = (kept["accepted"], kept["rejected"], kept["added"])
    assert verdicts == ([right], [wrong], ["furniture"])
    go_to(page, "corrections")
    page.wait_for_selector(f".past .quote:has-text('{TEXT}')")
    assert "furniture" in page.inner_text(".past > li:first-child")
    with page.expect_download() as downloading:
        page.click("text=Download all as JSON lines")
    assert downloading.value.path().read_bytes() == corrections.read_bytes()


def test_a_verdict_can_be_changed_and_taken_back(page):
    type_text(page)
    label = names(page)[0]
    page.click(f"[aria-label='Accept {label}']")
    page.click(f"[aria-label='Reject {label}']")
    assert page.get_attribute(f"[aria-label='Accept {label}']", "aria-pressed") == "false"
    assert page.is_visible("text=Send 1 correction")
    page.click(f"[aria-label='Undo: {label} rejected']")
    assert not page.is_visible("text=Send 1 correction")
    assert page.get_attribute(f"[aria-label='Reject {label}']", "aria-pressed") == "false"


def test_labels_are_found_by_keyboard(page):
    type_text(page)
    page.focus("#add")
    page.keyboard.type("c")
    page.wait_for_selector("#add-options li >> nth=2")
    options = page.locator("#add-options li").all_inner_texts()
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#add", "aria-activedescendant") == "add-1"
    page.keyboard.press("Escape")
    assert not page.is_visible("#add-options")
    page.fill("#add", "c")
    page.wait_for_selector("#add-options li >> nth=2")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text(".correcting .chip").startswith("+")
    assert options[1] in page.inner_text(".correcting .chip")
    page.fill("#add", "no label begins so")
    page.wait_for_selector("text=No label begins like this.")


def test_they_are_hidden_where_the_server_takes_none(browser, taggers):
    with serving(taggers["catalogue"]) as server, opened(browser, server.url) as page:
        type_text(page)
        assert page.query_selector_all(".verdict") == []
        assert not page.is_visible("#correcting")
        assert not page.is_visible("#views a[href='#corrections']")
        assert not page.is_visible("#model-choice"), "there is one model"
        page.evaluate("location.hash = 'corrections'")
        until(page, lambda: page.is_visible("#view-text"))
