"""Keys, pages of other sites, and addresses that others can reach."""

from __future__ import annotations

import hashlib

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from multitudes.errors import ConfigError
from multitudes.server import make_app
from multitudes.server.access import Access, Keys
from multitudes.server.access.keys import line_of, new_key

KEY = "correct-horse-battery-staple"
TEXTS = {"texts": ["a leather belt"], "top_k": 1}
SITE = "https://tags.example.org"


@pytest.fixture(scope="module")
def client(shop_tagger):
    return TestClient(make_app(shop_tagger, access=Access(Keys.of([KEY, new_key()]))))


@pytest.fixture(scope="module")
def browsed(shop_tagger):
    return TestClient(make_app(shop_tagger, access=Access(origins=(SITE,))))


@pytest.mark.parametrize(
    "headers",
    [{"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer  {KEY} "}, {"x-api-key": KEY}],
)
def test_a_key_lets_in(client, headers):
    assert client.post("/v1/predict", json=TEXTS, headers=headers).status_code == 200
    assert client.get("/v1/models", headers=headers).status_code == 200
    assert client.get("/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({}, "a key is needed: send the header authorization: Bearer KEY, or x-api-key: KEY"),
        ({"authorization": "Bearer "}, "a key is needed: "),
        ({"authorization": f"Basic {KEY}"}, "a key is needed: "),
        ({"authorization": KEY}, "a key is needed: "),
        ({"x-api-key": KEY + "x"}, "the key is not known: "),
        ({"x-api-key": KEY[:-1]}, "the key is not known: "),
        ({"x-api-key": hashlib.sha256(KEY.encode()).hexdigest()}, "the key is not known: "),
        ({"x-api-key": "x" * 9000}, "the key is not known: "),
        ({"x-api-key": "\x80\xff".encode("latin-1")}, "the key is not known: "),
    ],
)
def test_without_it_nothing_is_answered(client, headers, error):
    for answer in (
        client.post("/v1/predict", json=TEXTS, headers=headers),
        client.get("/v1/models", headers=headers),
        client.get("/v1/corrections", headers=headers),
        client.get("/metrics", headers=headers),
        client.get("/nothing", headers=headers),
    ):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"].startswith(error)
        assert KEY not in answer.text


@pytest.mark.parametrize("path", ["/health", "/ready", "/docs", "/openapi.json", "/"])
def test_what_needs_no_key(client, path):
    assert client.get(path).status_code == 200


def test_metrics_without_a_key(shop_tagger):
    access = Access(Keys.of([KEY]), open_metrics=True)
    assert TestClient(make_app(shop_tagger, access=access)).get("/metrics").status_code == 200


def test_a_file_of_keys(tmp_path):
    path = tmp_path / "keys"
    path.write_text(f"# of the library\n\n{line_of(KEY)} catalogue\n  {line_of(KEY[::-1])}\n")
    keys = Keys.read(path)
    assert keys.name_of(KEY.encode()) == "catalogue"
    assert keys.name_of(KEY[::-1].encode()) == "key 2"
    assert keys.name_of(b"") is None
    assert KEY not in repr(keys)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (KEY, r"keys:1: expected sha256:, 64 digits"),
        (f"{line_of(KEY)}\nsha256:12", r"keys:2: expected"),
        ("# nothing\n", "there is no key in"),
    ],
)
def test_a_file_that_is_none_of_keys(tmp_path, content, error):
    path = tmp_path / "keys"
    path.write_text(content)
    with pytest.raises(ConfigError, match=error) as raised:
        Keys.read(path)
    assert KEY not in str(raised.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        Keys.read(tmp_path / "missing")


def test_keys_that_can_be_guessed_are_refused():
    with pytest.raises(ConfigError, match="16 to 1,000 characters"):
        Keys.of(["secret"])


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "tags.example.org"])
def test_others_are_not_let_in_by_accident(host):
    with pytest.raises(ConfigError, match="give --keys FILE, or --open"):
        Access().check_public(host, is_open=False)
    Access().check_public(host, is_open=True)
    Access(Keys.of([KEY])).check_public(host, is_open=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_ones_own_address_needs_no_key(host):
    Access().check_public(host, is_open=False)


def test_sites_that_may_ask(browsed):
    answer = browsed.post("/v1/predict", json=TEXTS, headers={"origin": SITE})
    assert answer.headers["access-control-allow-origin"] == SITE
    assert answer.headers["vary"] == "origin"
    asked = {"origin": SITE, "access-control-request-method": "POST"}
    answer = browsed.options("/v1/predict", headers=asked)
    assert answer.status_code == 204
    assert "authorization" in answer.headers["access-control-allow-headers"]


@pytest.mark.parametrize("origin", ["https://evil.example", SITE + ".evil.example", "null", ""])
def test_sites_that_may_not(browsed, origin):
    answer = browsed.post("/v1/predict", json=TEXTS, headers={"origin": origin})
    assert "access-control-allow-origin" not in answer.headers
    asked = {"origin": origin, "access-control-request-method": "POST"}
    assert browsed.options("/v1/predict", headers=asked).status_code == 405


def test_off_by_default(shop_tagger):
    client = TestClient(make_app(shop_tagger))
    answer = client.get("/v1/models", headers={"origin": SITE})
    assert "access-control-allow-origin" not in answer.headers


def test_a_form_of_another_site_changes_nothing(browsed):
    headers = {"sec-fetch-site": "cross-site"}
    answer = browsed.post(
        "/v1/predict", json=TEXTS, headers=headers | {"origin": "https://a.example"}
    )
    assert answer.status_code == 403
    assert "--cors" in answer.json()["error"]
    assert browsed.post("/v1/predict", json=TEXTS, headers=headers | {"origin": SITE}).is_success
    assert browsed.post(
        "/v1/predict", json=TEXTS, headers={"sec-fetch-site": "same-origin"}
    ).is_success
    assert browsed.get("/v1/models", headers=headers).is_success


def test_the_refusal_of_a_key_can_be_read_by_an_allowed_site(shop_tagger):
    client = TestClient(make_app(shop_tagger, access=Access(Keys.of([KEY]), (SITE,))))
    answer = client.get("/v1/models", headers={"origin": SITE})
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == SITE


@pytest.mark.parametrize("origin", ["tags.example.org", "https://tags.example.org/", "ftp://a"])
def test_a_site_that_is_none(origin):
    with pytest.raises(ConfigError, match="a site is given as"):
        Access(origins=(origin,))
