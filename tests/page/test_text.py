"""A text and its labels: as they are typed, lit, opened, counted, copied and compared."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.page.browsing import TEXT, go_to, names, open_label, type_text, until, upload


def found(tagger, text=TEXT, top_k=50):
    return tagger.predict_proba([text], top_k=top_k)[0]


def test_labels_are_those_of_the_model(page, taggers):
    type_text(page)
    expected = found(taggers["catalogue"])
    assert names(page) == [tag.label for tag in expected][:10]
    shown = page.inner_text(".tag-score >> nth=0")
    assert float(shown.rstrip(" %")) == pytest.approx(100 * expected[0].score, abs=0.51)
    assert "Probabilities" in page.inner_text("#kind")
    until(page, lambda: "10 labels, first" in page.text_content("#said"))


def test_scores_are_called_so(page):
    page.select_option("#model", "plain words")
    type_text(page)
    assert "not probabilities" in page.inner_text("#kind")
    assert not page.is_visible("text=How sure")


def test_late_answers_to_older_texts_are_dropped(page):
    """The answer about the first text comes after that about the second."""
    held = []

    def hold(route):
        if "champagne" in route.request.post_data:
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/predict", hold)
    page.fill("#text", "a champagne flute")
    until(page, lambda: bool(held))
    type_text(page, "E-type bonnet catch, Coventry pattern")
    expected = names(page)
    for route in held:
        route.continue_()
    page.wait_for_timeout(200)
    assert names(page) == expected
    assert "jaguar" in expected


def test_a_slider_says_how_many_or_how_sure(page, taggers):
    type_text(page)
    page.focus(".slide input")
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    assert len(names(page)) == 4
    page.check("[value=sure]")
    page.fill(".slide input", "30")
    assert names(page) == [tag.label for tag in found(taggers["catalogue"]) if tag.score >= 0.3]
    page.check("[value=set]")
    (expected,) = taggers["catalogue"].predict_sets([TEXT])
    until(page, lambda: names(page) == [tag.label for tag in expected])


def test_words_light_up_where_they_stand(page):
    """Also behind characters that JavaScript counts twice."""
    type_text(page, "\U0001f600 \U0001f600 E-type bonnet catch, Coventry pattern")
    page.click(".tag[data-label=jaguar] .tag-open")
    page.wait_for_selector("#lights mark")
    lit = [mark.text_content() for mark in page.query_selector_all("#lights mark:not(.against)")]
    assert {"bonnet", "catch", "Coventry"} <= set(lit)
    assert page.text_content("#lights").rstrip("\n") == page.input_value("#text")
    page.click(".tag[data-label=jaguar] .tag-open")
    assert page.query_selector_all("#lights mark") == []


def test_the_lit_copy_wraps_as_the_text_does(page):
    type_text(page, f"{TEXT}. " * 30)
    page.click(".tag-open >> nth=0")
    page.wait_for_selector("#lights mark")
    tall = "e => e.scrollHeight"
    heights = [page.eval_on_selector(where, tall) for where in ("#text", "#lights")]
    assert heights[0] == pytest.approx(heights[1], abs=35), "one line is left for the end"
    page.eval_on_selector("#text", "e => { e.scrollTop = 120 }")
    until(page, lambda: page.eval_on_selector("#lights", "e => e.scrollTop") == 120)


def test_a_label_opens_to_what_is_known_about_it(page, taggers):
    type_text(page)
    page.click(".tag[data-label=jaguar] .tag-open")
    page.wait_for_selector(".inside-rest h3")
    shown = page.inner_text(".inside")
    for title in ("Senses", "Place in the tree", "Nearest labels", "Example texts"):
        assert title in shown
    senses = taggers["catalogue"].senses("jaguar")
    assert len(page.query_selector_all(".senses > li")) == len(senses) == 2
    assert f"Sense 1, of {senses[0].n_instances} texts" in shown


def test_copies(page, taggers):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    type_text(page)
    read = {}
    for form in ("text", "csv", "json"):
        page.click(f"#copies [data-form={form}]")
        page.wait_for_selector(f"#copies [data-form={form}]:has-text('Copied')")
        read[form] = page.evaluate("navigator.clipboard.readText()")
    expected = found(taggers["catalogue"])[:10]
    assert read["text"].split("\n") == [tag.label for tag in expected]
    rows = list(csv.DictReader(io.StringIO(read["csv"])))
    assert [row["label"] for row in rows] == [tag.label for tag in expected]
    assert float(rows[0]["probability"]) == pytest.approx(expected[0].score)
    assert [one["label"] for one in json.loads(read["json"])] == [tag.label for tag in expected]


def test_two_models_side_by_side(page):
    type_text(page)
    alone = names(page)
    page.select_option("#other", "plain words")
    page.wait_for_selector(".list:nth-child(2) .tag")
    mine, others = (names(page, f".list:nth-child({i})") for i in (1, 2))
    assert mine == alone
    marked = page.query_selector_all(".list:nth-child(2) .tag:has(.tag-only)")
    assert [row.get_attribute("data-label") for row in marked] == [
        label for label in others if label not in mine
    ]
    assert marked, "models of so different data differ"
    common = len({*mine} & {*others})
    assert f"{common} label" in page.inner_text("#kind")
    page.click(".list:nth-child(2) .tag-open >> nth=0")
    page.wait_for_selector(".list:nth-child(2) .inside")
    page.select_option("#other", "")
    page.wait_for_selector(".list:nth-child(2)", state="detached")


def test_text_files_in_two_encodings(page):
    upload(page, "#file", "a.txt", "Grüße aus Köln, bonnet catch".encode())
    page.wait_for_selector(".tag")
    assert page.input_value("#text") == "Grüße aus Köln, bonnet catch"
    upload(page, "#file", "b.txt", "Grüße aus Köln".encode("latin-1"))
    until(page, lambda: page.input_value("#text") == "Grüße aus Köln")
    upload(page, "#file", "c.txt", b"\x00\x01\x02")
    page.wait_for_selector("#alarm:has-text('is not a text file')")
    assert page.input_value("#text") == "Grüße aus Köln"


def test_a_dropped_file_is_read(page):
    made = """() => {
        const data = new DataTransfer();
        data.items.add(new File(["E-type bonnet catch"], "a.txt", { type: "text/plain" }));
        return data;
    }"""
    data = page.evaluate_handle(made)
    page.dispatch_event("#writing", "dragenter", {"dataTransfer": data})
    assert page.is_visible(".dropping")
    page.dispatch_event("#writing", "drop", {"dataTransfer": data})
    page.wait_for_selector(".tag")
    assert page.input_value("#text") == "E-type bonnet catch"
    assert not page.is_visible(".dropping")


def test_the_card_of_a_model(page):
    go_to(page, "model")
    page.wait_for_selector(".facts")
    assert page.inner_text("#model-title") == "catalogue"
    assert "400" in page.inner_text(".facts")


def test_an_error_is_a_sentence(page):
    page.route("**/v1/predict", lambda route: route.abort())
    page.fill("#text", "a jaguar")
    page.wait_for_selector("#alarm:has-text('The server does not answer')")
    page.unroute("**/v1/predict")
    type_text(page)
    assert not page.is_visible("#alarm")


def test_opened_labels_follow_the_text(page):
    type_text(page)
    label = names(page)[0]
    open_label(page)
    page.fill("#text", f"{TEXT}, and more of it")
    until(page, lambda: bool(page.query_selector_all("#lights mark")))
    assert page.get_attribute(f".tag[data-label='{label}'] .tag-open", "aria-expanded") == "true"
