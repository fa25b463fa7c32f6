"""PDFs are read by a process of their own, within limits; what cannot be read gets a sentence."""

from __future__ import annotations

import io
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest
from fastapi.testclient import TestClient

from multitudes.server import Limits, make_app, pdf
from tests.page.browsing import upload
from tests.server.serving import serving

pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
PDF = {"content-type": "application/pdf"}
TEXT = "E-type bonnet catch, Coventry pattern"


def made(lines: list[str], *, before: str = "") -> bytes:
    """A PDF with one page for each line, as the format's own examples are written."""
    kids = " ".join(f"{2 * i + 4} 0 R" for i in range(len(lines)))
    parts = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(lines)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, line in enumerate(lines):
        stream = f"{before}BT /F1 18 Tf 72 700 Td ({line}) Tj ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        parts.append(
            f"<< /Type /Page /Parent 2 0 R {resources} /MediaBox [0 0 612 792] "
            f"/Contents {2 * i + 5} 0 R >>"
        )
        parts.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    content, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{part}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(parts) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return content + f"{end}startxref\n{len(content)}\n%%EOF\n".encode()


@pytest.fixture(scope="module")
def client(taggers):
    limits = Limits(max_characters=2000)
    with TestClient(make_app(taggers["catalogue"], limits=limits)) as one:
        yield one


def test_a_dropped_pdf_is_read_and_labeled(page):
    upload(page, "#file", "catch.pdf", made([TEXT, "second page"]))
    page.wait_for_selector(".tag")
    assert page.input_value("#text") == f"{TEXT}\n\nsecond page"
    upload(page, "#file", "no.pdf", b"this is no PDF")
    page.wait_for_selector("#alarm:has-text('this is not a PDF')")


def protected() -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(made([TEXT])))
    writer.encrypt("secret", algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"", 422, "not a PDF"),
        (b"\x00\xff" * 500, 422, "not a PDF"),
        (b"%PDF-1.4\n", 422, "cannot be read"),
        (b"%PDF-1.4\n" + b"<< " * 100_000, 422, "cannot be read"),
        (made([TEXT])[:200], 422, "cannot be read"),
        (made(["x" * 500] * 5), 413, "more than 2,000 characters after 5 pages"),
        (made(["x"] * 1001), 413, "1,001 pages, at most 1,000"),
        (protected(), 422, "password"),
    ],
    ids=["empty", "noise", "cut", "open brackets", "half", "long", "pages", "password"],
)
def test_what_cannot_be_read_gets_a_sentence(client, content, code, words):
    answer = client.post("/v1/text", content=content, headers=PDF)
    assert answer.status_code == code
    assert words in answer.json()["error"]


def test_text_is_what_the_file_says(client):
    answer = client.post("/v1/text", content=made([TEXT]), headers=PDF)
    assert answer.json() == {"text": TEXT}


def test_other_sites_cannot_send_files(client):
    answer = client.post("/v1/text", content=made([TEXT]), headers={"content-type": "text/plain"})
    assert answer.status_code == 422
    assert "application/pdf" in answer.json()["error"]


def test_a_file_that_takes_too_long_is_given_up(taggers):
    """Its page draws for minutes; the process ends with the request, and others are answered."""
    slow = made([TEXT], before="q 1 0 0 1 0 0 cm Q " * 800_000)
    app = make_app(taggers["catalogue"], limits=Limits(answer_seconds=1.0))
    with TestClient(app) as client:
        begun = time.monotonic()
        answer = client.post("/v1/text", content=slow, headers=PDF)
        assert time.monotonic() - begun < 6
        assert answer.status_code == 413
        assert "within 1 seconds" in answer.json()["error"]
        assert client.post("/v1/predict", json={"texts": [TEXT]}).status_code == 200


def test_a_file_that_nobody_waits_for_is_given_up(taggers):
    """Its client leaves, or the server stops: the process ends with the request."""
    slow = made([TEXT], before="q 1 0 0 1 0 0 cm Q " * 800_000)
    limits = Limits(grace_seconds=0.5)
    with serving(taggers["catalogue"], limits) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/v1/text", content=slow, headers=PDF, timeout=0.8)
        assert ended_soon()
        asking = httpx.Client(timeout=30)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(asking.post, f"{server.url}/v1/text", content=slow, headers=PDF)
            time.sleep(0.6)
            assert processes()
            server.server.should_exit = True
            assert answer.result(20).status_code == 503
        assert ended_soon()


def processes() -> list[psutil.Process]:
    """Those that read a PDF now."""
    mine = psutil.Process().children(recursive=True)
    return [one for one in mine if str(pdf.SCRIPT) in " ".join(command_of(one))]


def command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended
        return []


def ended_soon() -> bool:
    until = time.monotonic() + 5
    while processes() and time.monotonic() < until:
        time.sleep(0.05)
    return not processes()


def test_a_file_that_takes_too_much_memory_is_given_up(client, monkeypatch):
    monkeypatch.setattr(pdf, "MEMORY", 60_000_000)
    answer = client.post("/v1/text", content=made([TEXT]) + b" " * 10_000_000, headers=PDF)
    assert answer.status_code == 422
    assert "memory" in answer.json()["error"]


def test_too_many_at_once_are_refused(client, monkeypatch):
    monkeypatch.setattr(pdf, "MAX_WAITING", 0)
    answer = client.post("/v1/text", content=made([TEXT]), headers=PDF)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
