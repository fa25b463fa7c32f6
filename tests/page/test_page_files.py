"""What the page is made of: its own files alone, served as they are, under a strict policy."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient

from multitudes.server import Limits, make_app
from multitudes.server.routes.page import FOLDER

FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def client(taggers):
    with TestClient(make_app(taggers["catalogue"])) as one:
        yield one


def test_the_page_and_its_policy(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_each_file_is_served_and_needs_no_other_host(client, path):
    name = path.relative_to(FOLDER).as_posix()
    answer = client.get(f"/static/{name}")
    assert answer.content == path.read_bytes()
    assert "content-security-policy" in answer.headers
    again = client.get(f"/static/{name}", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    hosts = set(re.findall(r"https?://[^\s\"')]+", path.read_text("utf-8")))
    assert hosts <= {"http://www.w3.org/2000/svg"}


def test_all_files_are_in_the_wheel():
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    root = FOLDER.parents[2]
    builder = wheel.WheelBuilder(str(root))
    found = {file.distribution_path for file in builder.recurse_included_files()}
    assert {path.relative_to(root).as_posix() for path in FILES} <= found
    assert "multitudes/server/pdf/program.py" in found


def test_nothing_else_is_served(client):
    for name in (
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "",
        "style",
        "/etc/passwd",
        "x" * 5000,
    ):
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 404
        assert set(answer.json()) == {"error"}


def test_the_page_is_told_what_the_server_takes(client, taggers, tmp_path):
    told = client.get("/static/settings.json").json()
    assert (told["corrections"], told["max_top_k"]) == (False, 1000)
    app = make_app(
        taggers["catalogue"], limits=Limits(max_top_k=7), corrections=tmp_path / "corrections"
    )
    told = TestClient(app).get("/static/settings.json").json()
    assert (told["corrections"], told["max_top_k"]) == (True, 7)


def test_no_script_makes_html_of_text():
    """The browser would refuse it, but then the page would not work."""
    scripts = [path for path in FILES if path.suffix == ".js"]
    assert len(scripts) > 10
    unsafe = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    )
    assert [path.name for path in scripts if unsafe.search(path.read_text("utf-8"))] == []
    page = (FOLDER / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?! type=\"module\" src=)|\son\w+=|\sstyle=|<style", page) == []


def test_what_the_page_refers_to_exists(client):
    page = (FOLDER / "index.html").read_text("utf-8")
    named = set(re.findall(r"(?:href|src)=\"(/[^\"]*)\"", page))
    assert len(named) >= 5
    assert [name for name in named if client.get(name).status_code != 200] == []
