"""A table is labeled in pieces, and saved so that a spreadsheet reads it and runs nothing."""

from __future__ import annotations

import csv
import io

import pytest

from tests.page.browsing import go_to, upload

FIELD = "#table input[type=file]"
TEXTS = [f"E-type bonnet catch no. {i}, Coventry pattern" for i in range(120)]


def table_of(rows, delimiter=",") -> bytes:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows(rows)
    return written.getvalue().encode()


def saved(page) -> list[list[str]]:
    with page.expect_download() as downloading:
        page.click("text=Download CSV")
    content = downloading.value.path().read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_each_row_gets_its_labels(page, taggers):
    go_to(page, "table")
    hard = 'three "quoted"\nlines; with, commas · Köln'
    texts = [hard, "", *TEXTS]
    rows = [["id", "title"], *([str(i), text] for i, text in enumerate(texts))]
    upload(page, FIELD, "wares.csv", table_of(rows))
    assert page.eval_on_selector("#column", "e => e.selectedOptions[0].textContent") == "title"
    page.click("text=Label 122 rows")
    page.wait_for_selector("text=122 rows labeled.")
    head, *body = saved(page)
    assert head == ["id", "title", "labels", "probabilities"]
    assert [row[:2] for row in body] == rows[1:]
    expected = taggers["catalogue"].predict_proba(texts, top_k=10)
    for row, tags in zip(body, expected, strict=True):
        assert row[2].split("; ") == [tag.label for tag in tags] if row[1] else row[2] == ""
    assert float(body[2][3].split("; ")[0]) == pytest.approx(expected[2][0].score, abs=1e-4)


def test_cells_do_not_become_formulas(page):
    go_to(page, "table")
    cells = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "-5", "+3.5", "\tx", "plain"]
    rows = [["note", "a text that is long enough"], *([cell, TEXTS[0]] for cell in cells)]
    upload(page, FIELD, "wares.csv", table_of(rows))
    page.click("text=Label 8 rows")
    page.wait_for_selector("text=8 rows labeled.")
    written = [row[0] for row in saved(page)[1:]]
    assert written == [
        "'=1+1", "'+cmd|' /C calc'!A0", "'-2+3", "'@SUM(A1)", "-5", "+3.5", "'\tx", "plain",
    ]  # fmt: skip


def test_columns_are_chosen_and_named_anew_where_taken(page):
    go_to(page, "table")
    rows = [["labels", "short", "long"], ["x", "bonnet catch", "nothing that is known " * 5]]
    upload(page, FIELD, "wares.csv", table_of(rows, ";"))
    page.select_option("#column", label="short")
    page.click("text=Label 1 row")
    page.wait_for_selector("text=1 row labeled.")
    with page.expect_download() as downloading:
        page.click("text=Download CSV")
    assert downloading.value.suggested_filename == "wares-labeled.csv"
    first, second, *_ = downloading.value.path().read_text("utf-8-sig").splitlines()
    assert first == "labels;short;long;labels_2;probabilities"
    assert "jaguar" in second


def test_cancel_keeps_what_was_done(page):
    go_to(page, "table")
    asked = []

    def hold(route):
        asked.append(route)
        if len(asked) == 1:
            route.continue_()

    page.route("**/v1/predict", hold)
    upload(page, FIELD, "wares.csv", table_of([["title"], *([text] for text in TEXTS)]))
    page.click("text=Label 120 rows")
    page.wait_for_selector("text=50 of 120 rows")
    assert page.eval_on_selector("progress", "e => e.value / e.max") == pytest.approx(50 / 120)
    page.click("text=Cancel")
    page.wait_for_selector("text=Canceled: 50 rows of 120 labeled.")
    assert len(saved(page)) == 51


def test_a_busy_server_is_asked_again(page):
    go_to(page, "table")
    answers = [429, 503]

    def refuse(route):
        if answers:
            status = answers.pop()
            headers = {"retry-after": "0.01"}
            route.fulfill(status=status, headers=headers, json={"error": "no room"})
        else:
            route.continue_()

    page.route("**/v1/predict", refuse)
    upload(page, FIELD, "wares.csv", table_of([["title"], [TEXTS[0]]]))
    page.click("text=Label 1 row")
    page.wait_for_selector("text=1 row labeled.")
    assert answers == []


def test_a_table_on_the_text_is_taken_as_a_table(page):
    upload(page, "#file", "wares.csv", table_of([["title"], [TEXTS[0]]]))
    page.wait_for_selector("text=Label 1 row")
    assert page.is_visible("#view-table")
    assert page.input_value("#text") == ""


def test_another_table_ends_the_work_on_the_first(page):
    go_to(page, "table")
    page.route("**/v1/predict", lambda route: None)
    upload(page, FIELD, "wares.csv", table_of([["title"], *([text] for text in TEXTS)]))
    page.click("text=Label 120 rows")
    page.wait_for_selector("text=Cancel")
    page.unroute_all()
    upload(page, FIELD, "others.csv", table_of([["title"], [TEXTS[0]]]))
    page.click("text=Label 1 row")
    page.wait_for_selector("text=1 row labeled.")
    assert not page.is_visible("text=Cancel")


def test_an_error_names_its_row(page):
    go_to(page, "table")
    refused = {"status": 413, "json": {"error": "the request is too long"}}
    page.route("**/v1/predict", lambda route: route.fulfill(**refused))
    upload(page, FIELD, "wares.csv", table_of([["title"], [TEXTS[0]]]))
    page.click("text=Label 1 row")
    page.wait_for_selector("text=Row 1 and on: the request is too long")
    assert not page.is_visible("text=Download CSV")


def test_tables_are_read_as_python_reads_them(page):
    """One line, blank lines, quotes that are never closed, line ends of three kinds, a mark."""
    read = "text => import('/static/csv.js').then((csv) => csv.parseCsv(text))"
    contents = [
        "",
        "a,b\r\n",
        'x,"never closed',
        "\ufeffa;b\r1;2\r3;4",
        '"a""b",c\n\n1,2',
        "a\n\n",
        "a,b\n1,",
    ]
    for content in contents:
        text = content.removeprefix("\ufeff")
        delimiter = ";" if ";" in text else ","
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        expected = {"rows": [row for row in lines if row], "delimiter": delimiter}
        assert page.evaluate(read, content) == expected, content
