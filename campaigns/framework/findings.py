"""Findings: one folder for each way to fail, with the input reduced and how to run it again."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from campaigns.framework.campaign import Campaign, Case
from campaigns.framework.keeper import Failure, run_alone
from campaigns.framework.outcomes import Outcome
from campaigns.framework.reducing import reduced

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / "campaigns" / "findings"
RESULTS = ROOT / "campaigns" / "results"


@dataclass(frozen=True)
class Finding:
    """A way to fail, by its first case."""

    target: str
    kind: str
    signature: str
    detail: str
    command: str
    path: str


def identity(failure: Failure) -> str:
    """Return what is equal for failures of the same kind."""
    return f"{failure.outcome.kind} {failure.outcome.signature}"


def stored(campaign: Campaign, failure: Failure, seed: int, only: str | None) -> Finding:
    """Reduce a failure, store it, and return what the report says about it."""
    case, outcome = failure.case, failure.outcome
    key = hashlib.sha1(identity(failure).encode()).hexdigest()[:8]
    name = re.sub(r"\W+", "-", f"{outcome.kind}-{case.target}").strip("-")
    folder = FINDINGS / campaign.name / f"{name}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    suffix = campaign.suffix(case.target)
    (folder / f"input{suffix}").write_bytes(case.content)
    small = _reduced(campaign, case, outcome)
    (folder / f"reduced{suffix}").write_bytes(small)
    command = f"python -m campaigns.{campaign.name} --seed {seed} --case {failure.number}"
    command += f" --only {only}" if only else ""
    record = {
        "target": case.target,
        "outcome": outcome.kind,
        "detail": outcome.detail,
        "signature": outcome.signature,
        "command": command,
        "case": campaign.describe(case),
        "reduced": campaign.describe(Case(case.target, small)),
        "trace": outcome.trace.splitlines(),
    }
    (folder / "finding.json").write_text(json.dumps(record, indent=2) + "\n")
    path = str(folder.relative_to(ROOT))
    return Finding(case.target, outcome.kind, outcome.signature, outcome.detail, command, path)


def _reduced(campaign: Campaign, case: Case, outcome: Outcome) -> bytes:
    """A smaller input that fails in the same way; the whole one if it does not fail alone."""

    def fails(content: bytes) -> bool:
        again = run_alone(campaign, Case(case.target, content))
        return (again.kind, again.signature) == (outcome.kind, outcome.signature)

    if not campaign.reducible or campaign.reduce_seconds <= 0 or not fails(case.content):
        return case.content
    return reduced(case.content, fails, seconds=campaign.reduce_seconds)
