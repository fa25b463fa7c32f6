"""`multitudes serve --vocabulary`: what it says before it serves."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("fastapi")


@pytest.fixture
def taken():
    """A port at which the server cannot listen, so that it ends."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_how_many_labels_have_names(cli, model, taken, tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("uri,label_en,notation\nhttp://example.org/belts,belts,42\n")
    result = cli("serve", f"yso={model}", "--port", taken, "--vocabulary", f"yso={path}")
    assert "1 of " in result.err
    assert " labels of yso are in shop" in result.err
    assert "cannot listen" in result.err


def test_a_vocabulary_that_is_not_there(cli, model):
    result = cli("serve", model, "--vocabulary", "no-such.ttl")
    assert result.code != 0
    assert "no-such.ttl" in result.err
    assert "Traceback" not in result.err


def test_a_language_that_no_name_has(cli, model, tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("uri,label_en\nhttp://example.org/belts,belts\n")
    result = cli("serve", model, "--vocabulary", path, "--language", "fi")
    assert result.code != 0
    assert "no names in the language 'fi'" in result.err
