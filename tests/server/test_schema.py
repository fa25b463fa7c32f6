"""The server against its own description, by requests that schemathesis draws from it.

The same requests each time: what a test finds today it finds tomorrow.
"""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from multitudes import Tagger
from multitudes.data import make_catalogue
from multitudes.server import Limits, make_app

ACCEPTED = [positive_data_acceptance]
STATUS = [("GET", "/health"), ("GET", "/ready"), ("GET", "/metrics"), ("GET", "/v1/models")]
ADDRESSES = [
    ("GET", "/v1/models/{name}"), ("POST", "/v1/models/{name}/reload"), ("POST", "/v1/predict"),
    ("POST", "/v1/explain"), ("GET", "/v1/labels"), ("GET", "/v1/labels/details"),
    ("GET", "/v1/senses"), ("GET", "/v1/corrections"), ("POST", "/v1/corrections"),
    ("GET", "/v1/corrections/export"),
]  # fmt: skip
OTHERS = ("/v1/projects", "/v1/vocabs", "/v1/detect-language", "/v1/text", "/v1/")
N_EXAMPLES = 15


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    shop = make_catalogue(300, n_labels=30, random_state=1).dataset
    settings = {"overlap": 2, "max_leaf_size": 8}
    tagger = Tagger("xr-linear", settings=settings, n_jobs=1).fit(shop[:200]).calibrate(shop[200:])
    limits = Limits(max_texts=50, max_characters=10_000, max_body=50_000)
    kept = tmp_path_factory.mktemp("kept") / "corrections.jsonl"
    app = make_app(tagger, limits=limits, corrections=kept)
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def test_all_addresses_are_tried(description):
    found = {(method.upper(), path) for path in description for method in description[path]}
    own = {one for one in found if not (one[1] == "/v1/" or one[1].startswith(OTHERS[:-1]))}
    assert own == {*STATUS, *ADDRESSES}


@pytest.mark.parametrize(("method", "path"), STATUS + ADDRESSES)
def test_answers_are_those_of_the_description(description, method, path):
    check(description, method, path, schemathesis.GenerationMode.POSITIVE)


@pytest.mark.parametrize(
    ("method", "path"),
    [one for one in ADDRESSES if "{" not in one[1] and not one[1].endswith("export")],
)
def test_what_is_not_described_is_refused(description, method, path):
    check(description, method, path, schemathesis.GenerationMode.NEGATIVE)


def check(description, method, path, mode):
    """Send requests that the description allows, or does not, and judge the answers by it."""
    n = 2 if (method, path) in STATUS else N_EXAMPLES

    @given(case=description[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=n,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # what fails is reported as it is
        suppress_health_check=list(HealthCheck),
    )
    def answers(case):
        answer = case.call()
        if answer.status_code == 413:  # too many texts: schemathesis expects another refusal
            assert "most" in answer.json()["error"]
            return
        # Whether a label is the model's is not in the description, and to JSON Schema 3.0 is an
        # integer, which it is not here.
        case.validate_response(answer, excluded_checks=ACCEPTED)

    answers()
