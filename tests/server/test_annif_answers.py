"""Our answers beside those that the real Annif 1.4 gave to the same calls, field by field.

`tests/peer/record_annif.py` recorded Annif's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("rdflib")

from fastapi.testclient import TestClient

from multitudes.data.vocabularies.subjects import Vocabularies
from multitudes.server import make_app
from tests.peer.annif_workspace import LEARNING, OMIKUJI
from tests.peer.record_annif import CALLS, asked
from tests.server.crafts import crafts_tagger, crafts_vocabulary

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "annif_answers.jsonl").read_text().splitlines()
]
# Fields that are sometimes null, in Annif and here.
NULLABLE = {"notation", "document_id", "language", "modification_time"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crafts")
    tagger = crafts_tagger()
    app = make_app(
        {OMIKUJI: tagger, LEARNING: tagger},
        vocabularies=Vocabularies.read([str(crafts_vocabulary(folder))], [], "en"),
        corrections=folder / "corrections.jsonl",
    )
    return TestClient(app, follow_redirects=False)


def fields(content: Any) -> Any:
    """Names and types, all the way down; of a list, those of its entries."""
    if isinstance(content, dict):
        return {name: "?" if name in NULLABLE else fields(of) for name, of in content.items()}
    if isinstance(content, list):
        kinds = {json.dumps(fields(one), sort_keys=True) for one in content}
        return sorted(kinds)
    # 1 and 1.0 are the same number in JSON.
    return "number" if type(content) in (int, float) else type(content).__name__


def test_the_recorded_calls_are_those_of_the_script():
    assert {one["name"]: one["call"] for one in RECORDED} == CALLS


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda one: one["name"])
def test_answers_have_the_fields_of_annifs(client, recorded):
    theirs, ours = recorded["answer"], asked(client, recorded["call"])
    assert ours["status"] == theirs["status"]
    if theirs["body"] is None:
        assert ours["body"] is None
    elif theirs["status"] < 400:
        assert ours["type"] == theirs["type"]
        assert fields(ours["body"]) == fields(theirs["body"])
    else:
        assert ours["type"] == theirs["type"] == "application/problem+json"
        assert ours["body"].keys() == theirs["body"].keys() | {"error"}
        assert ours["body"]["status"] == theirs["body"]["status"]


@pytest.mark.parametrize("name", ["suggest", "suggest, options", "batch, options"])
def test_the_same_subjects_come_first(client, name):
    theirs = next(one for one in RECORDED if one["name"] == name)
    ours = asked(client, theirs["call"])["body"]
    named = [_first(answer) for answer in (ours, theirs["answer"]["body"])]
    assert named[0] == named[1]
    assert named[0]["uri"] == "http://example.org/belts"


def _first(answer: Any) -> dict[str, Any]:
    results = (answer[0] if isinstance(answer, list) else answer)["results"]
    return {name: value for name, value in results[0].items() if name != "score"}
