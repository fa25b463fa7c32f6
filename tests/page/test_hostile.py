"""Texts, labels and models that are HTML are shown as they are written, and run nothing."""

from __future__ import annotations

from tests.page.browsing import go_to, type_text, upload
from tests.page.conftest import EVIL

TEXT = f"a jaguar on the road <script>window.hacked=1</script> {EVIL}"


def assert_harmless(page, *, shown: str) -> None:
    assert EVIL in page.inner_text(shown)
    assert page.query_selector_all("main img, main b, main script") == []
    assert page.evaluate("window.hacked") is None


def test_no_name_or_text_becomes_html(page):
    page.select_option("#model", EVIL)
    type_text(page, TEXT)
    assert_harmless(page, shown="#lists")
    page.locator(".tag-open", has_text="<b>road</b>").click()
    page.wait_for_selector("#lights mark")
    page.wait_for_selector(".inside-rest h3")
    assert_harmless(page, shown=".inside")
    assert EVIL in page.text_content("#lights")
    page.fill("#add", "<")
    page.wait_for_selector("#add-options li >> nth=0")
    assert_harmless(page, shown="#add-options")
    page.press("#add", "Enter")
    page.click("text=Send 1 correction")
    page.wait_for_selector("text=Sent. Thank you.")
    go_to(page, "corrections")
    page.wait_for_selector(".past li")
    assert_harmless(page, shown=".past > li:first-child")
    go_to(page, "model")
    page.wait_for_selector(".facts")
    assert_harmless(page, shown="#model-title")


def test_no_cell_becomes_html_and_no_label_a_formula(page):
    page.select_option("#model", EVIL)
    go_to(page, "table")
    table = f'{EVIL},text\nx,"{TEXT}"\n'.encode()
    upload(page, "#table input[type=file]", f"{EVIL}.csv", table)
    assert_harmless(page, shown="#table h2")
    page.select_option("#column", "1")
    page.click("text=Label 1 row")
    page.wait_for_selector("text=1 row labeled.")
    assert_harmless(page, shown="#table table")


def test_a_refusal_that_is_html_is_text(page):
    refused = {"status": 400, "json": {"error": EVIL}}
    page.route("**/v1/predict", lambda route: route.fulfill(**refused))
    page.fill("#text", "a jaguar")
    page.wait_for_selector("#alarm:visible")
    assert_harmless(page, shown="#alarm")


def test_the_policy_forbids_what_we_never_do(page):
    """A second wall: markup that got in all the same would not run."""
    made = "html => { try { document.body.innerHTML = html } catch (error) { return error.name } }"
    assert page.evaluate(made, EVIL) == "TypeError"
    assert "TrustedHTML" in page.failures.pop()
