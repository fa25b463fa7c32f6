"""One browser and one server with three models for all tests of the page."""

from __future__ import annotations

import pytest

from multitudes import Tagger
from multitudes.data import make_catalogue
from multitudes.server import Limits
from tests.page.browsing import browsing, opened, show
from tests.server.serving import serving

EVIL = '<img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="session")
def taggers():
    """One calibrated and with senses, one that only scores, and one that wishes us ill."""
    shop = make_catalogue(5000, n_labels=400, random_state=1).dataset
    senses = {"overlap": 2, "match_width": 1}
    ours = Tagger("xr-linear", settings=senses, n_jobs=1).fit(shop[:4200]).calibrate(shop[4200:])
    plain = Tagger("one-vs-all", n_jobs=1).fit(shop[:500])
    texts = ["a jaguar in the wood", "a jaguar on the road"] * 4
    evil = Tagger("xr-linear", n_jobs=1)
    evil.fit([f"{text} {EVIL}" for text in texts], [[EVIL, "=cmd()"], ["<b>road</b>", EVIL]] * 4)
    return {"catalogue": ours, "plain words": plain, EVIL: evil}


@pytest.fixture(scope="session")
def corrections(tmp_path_factory):
    return tmp_path_factory.mktemp("corrections") / "corrections.jsonl"


@pytest.fixture(scope="session")
def served(taggers, corrections):
    with serving(taggers, Limits(grace_seconds=1), corrections=corrections) as server:
        yield server


# While Playwright is there an event loop runs in this thread, in which no other test could start
# one of its own: so the browser is closed with the last test of this folder.
@pytest.fixture(scope="package")
def browser():
    with browsing() as launched:
        yield launched


@pytest.fixture(scope="package")
def tab(browser, served):
    """A tab that tests take turns with: to open another takes as long as a test."""
    with opened(browser, served.url) as one:
        yield one


@pytest.fixture
def page(tab, served):
    """The page, opened anew."""
    tab.unroute_all()
    tab.evaluate("sessionStorage.clear()")
    show(tab, served.url)
    yield tab
    failures, tab.failures[:] = [*tab.failures], []
    assert failures == []
