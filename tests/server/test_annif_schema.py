"""Annif's addresses against their description, by requests that schemathesis draws from it."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from multitudes.server import Limits, make_app
from multitudes.server.annif.problems import is_annifs

ADDRESSES = [
    ("GET", "/v1/projects"),
    ("GET", "/v1/projects/{project_id}"),
    ("POST", "/v1/projects/{project_id}/suggest"),
    ("POST", "/v1/projects/{project_id}/suggest-batch"),
    ("POST", "/v1/projects/{project_id}/learn"),
    ("GET", "/v1/vocabs"),
    ("POST", "/v1/detect-language"),
]


@pytest.fixture(scope="module")
def description(shop_tagger, tmp_path_factory):
    app = make_app(
        {"shop": shop_tagger},
        limits=Limits(max_texts=50, max_characters=10_000, max_body=50_000),
        corrections=tmp_path_factory.mktemp("corrections") / "corrections.jsonl",
    )
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def test_all_addresses_are_tried(description):
    found = {(method.upper(), path) for path in description for method in description[path]}
    assert {(method, path) for method, path in found if is_annifs(path)} == set(ADDRESSES)


@pytest.mark.parametrize("mode", schemathesis.GenerationMode)
@pytest.mark.parametrize(("method", "path"), ADDRESSES)
def test_answers_are_those_of_the_description(description, method, path, mode):
    if mode is schemathesis.GenerationMode.NEGATIVE and method == "GET":
        pytest.skip("takes nothing that could be wrong")

    @given(case=description[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    def answers(case):
        if case.path_parameters:
            case.path_parameters["project_id"] = "shop"
        answer = case.call()
        if answer.status_code == 413:  # schemathesis expects another refusal
            assert "most" in answer.json()["error"]
            return
        # Which languages there are is not in the description.
        case.validate_response(answer, excluded_checks=[positive_data_acceptance])

    answers()
