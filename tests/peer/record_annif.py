"""Ask the real Annif all that its API takes, and keep what it answers, for `tests/server`.

Run ``python -m tests.peer.record_annif`` from the repository's root.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import httpx

from tests.peer.annif_workspace import LEARNING, OMIKUJI, Workspace
from tests.server.crafts import BELTS

RECORDED = Path(__file__).resolve().parents[1] / "server" / "annif_answers.jsonl"
TEXT = "medieval leather belts"
SUGGEST, BATCH = f"/v1/projects/{OMIKUJI}/suggest", f"/v1/projects/{OMIKUJI}/suggest-batch"
LEARN = f"/v1/projects/{LEARNING}/learn"
DETECT = "/v1/detect-language"
QUICK = "The quick brown fox jumped over the lazy dog"


def _post(path: str, **content: Any) -> dict[str, Any]:
    return {"method": "POST", "path": path, **content}


CALLS: dict[str, dict[str, Any]] = {
    "info": {"method": "GET", "path": "/v1/"},
    "info, no slash": {"method": "GET", "path": "/v1"},
    "projects": {"method": "GET", "path": "/v1/projects"},
    "projects, slash": {"method": "GET", "path": "/v1/projects/"},
    "project": {"method": "GET", "path": f"/v1/projects/{OMIKUJI}"},
    "project, unknown": {"method": "GET", "path": "/v1/projects/nope"},
    "vocabularies": {"method": "GET", "path": "/v1/vocabs"},
    "vocabulary": {"method": "GET", "path": "/v1/vocabs/crafts"},
    "suggest": _post(SUGGEST, data={"text": TEXT}),
    "suggest, options": _post(
        SUGGEST, data={"text": TEXT, "limit": "2", "threshold": "0.1", "language": "fi"}
    ),
    "suggest, other fields": _post(
        SUGGEST, data={"text": TEXT, "limit": "1", "project": "x", "metadata_title": "y"}
    ),
    "suggest, none": _post(SUGGEST, data={"text": TEXT, "limit": "0"}),
    "suggest, empty": _post(SUGGEST, data={"text": ""}),
    "suggest, high threshold": _post(SUGGEST, data={"text": TEXT, "threshold": "1"}),
    "suggest, no text": _post(SUGGEST, data={"limit": "1"}),
    "suggest, limit is a word": _post(SUGGEST, data={"text": TEXT, "limit": "x"}),
    "suggest, limit below 0": _post(SUGGEST, data={"text": TEXT, "limit": "-1"}),
    "suggest, threshold above 1": _post(SUGGEST, data={"text": TEXT, "threshold": "2"}),
    "suggest, other language": _post(SUGGEST, data={"text": TEXT, "language": "xx"}),
    "suggest, JSON": _post(SUGGEST, json={"text": TEXT}),
    "suggest, unknown": _post("/v1/projects/nope/suggest", data={"text": TEXT}),
    "suggest, GET": {"method": "GET", "path": SUGGEST},
    "batch": _post(
        BATCH,
        json={"documents": [{"text": TEXT, "document_id": "one"}, {"text": "spoons"}]},
    ),
    "batch, options": _post(
        BATCH,
        params={"limit": "1", "threshold": "0.1", "language": "fi"},
        json={"documents": [{"text": TEXT, "metadata": {"title": "x"}, "other": 1}]},
    ),
    "batch, empty text": _post(BATCH, json={"documents": [{"text": ""}]}),
    "batch, nothing": _post(BATCH, json={"documents": []}),
    "batch, no text": _post(BATCH, json={"documents": [{"document_id": "x"}]}),
    "batch, id is a number": _post(BATCH, json={"documents": [{"text": "", "document_id": 5}]}),
    "batch, limit is a word": _post(BATCH, params={"limit": "x"}, json={"documents": []}),
    "batch, not JSON": _post(
        BATCH, content="{broken", headers={"content-type": "application/json"}
    ),
    "batch, unknown": _post("/v1/projects/nope/suggest-batch", json={"documents": []}),
    "learn": _post(LEARN, json=[{"text": TEXT, "subjects": [{"uri": BELTS, "label": "belts"}]}]),
    "learn, no subjects": _post(LEARN, json=[{"text": TEXT}]),
    "learn, nothing": _post(LEARN, json=[]),
    "learn, no URI": _post(LEARN, json=[{"text": TEXT, "subjects": [{"label": "belts"}]}]),
    "learn, not a list": _post(LEARN, json={"text": TEXT}),
    "learn, unknown": _post("/v1/projects/nope/learn", json=[]),
    "detect": _post(DETECT, json={"text": QUICK, "languages": ["en", "fi", "sv"]}),
    "detect, other": _post(DETECT, json={"text": QUICK, "languages": ["fi"]}),
    "detect, unknown language": _post(DETECT, json={"text": QUICK, "languages": ["xx"]}),
    "detect, no language": _post(DETECT, json={"text": QUICK, "languages": []}),
    "detect, six": _post(
        DETECT, json={"text": QUICK, "languages": ["en", "fi", "sv", "de", "fr", "es"]}
    ),
    "detect, long code": _post(DETECT, json={"text": QUICK, "languages": ["english"]}),
    "detect, no text": _post(DETECT, json={"languages": ["en"]}),
}


def asked(client: httpx.Client, call: dict[str, Any]) -> dict[str, Any]:
    """What a server answers to a call."""
    answer = client.request(call["method"], call["path"], **_content(call))
    return {
        "status": answer.status_code,
        "type": answer.headers.get("content-type", "").partition(";")[0],
        "body": answer.json() if answer.content else None,
    }


def _content(call: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in call.items() if name not in ("method", "path")}


def main() -> None:
    """Record all calls."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace.make(Path(folder))
        workspace.train()
        with workspace.serving() as url, httpx.Client(base_url=url, timeout=30) as client:
            lines = [
                json.dumps({"name": name, "call": call, "answer": asked(client, call)})
                for name, call in CALLS.items()
            ]
    RECORDED.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
