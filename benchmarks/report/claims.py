"""Claims of the papers, ``benchmarks/claims/*.toml``, and our verdicts on them as tables."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.evidence.studies import STUDIES
from benchmarks.machine import ROOT
from benchmarks.report.records import Records, known, nearest, span
from benchmarks.report.references import Reference, filled
from benchmarks.report.tables import table

CLAIMS = ROOT / "benchmarks" / "claims"
NOT_TRIED = "not tried"
VERDICTS = ("reproduced", "partly", "not reproduced", NOT_TRIED)
PAPER_KEYS = ("paper", "page", "claim")
COLUMNS = ("where", "claim", "verdict", "our numbers")
SEVERAL = " · "
NEW_LINE = "<br>"
LINE_END = re.compile(r"; |(?<=\.) ")


class ClaimError(ValueError):
    """A file of claims says something that is not understood."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and what we found.

    Parameters
    ----------
    where : str
        Table, figure, theorem or section of the paper.
    claim : str
        In a sentence.
    verdict : str
        One of `VERDICTS`.
    evidence : str
        Our numbers, ``{RECORD: ROW | MEASURE}`` or ``{RECORD: ROW - OTHER ROW | MEASURE}`` each.
    study : str
        Of `benchmarks.evidence`; the command is made from it.
    command : str
        What repeats it, if no study does.
    note : str
        A sentence or several that follow the numbers; it may have references too.
    """

    where: str
    claim: str
    verdict: str
    evidence: str = ""
    study: str = ""
    command: str = ""
    note: str = ""

    @classmethod
    def parse(cls, content: Mapping[str, Any]) -> Claim:
        """Of a table ``[[claim]]``."""
        names = [field.name for field in fields(cls)]
        refuse_unknown(content, names)
        if missing := [name for name in names[:3] if not content.get(name)]:
            raise ClaimError(f"no {', '.join(missing)} in {dict(content)}")
        made = cls(**content)
        known(made.verdict, dict.fromkeys(VERDICTS, True), "verdict")
        if made.study:
            known(made.study, STUDIES, "study")
        if made.verdict != NOT_TRIED and not (made.study or made.command):
            raise ClaimError(f"{made.where}: {made.verdict!r}, but no study or command says how")
        return made

    def cells(self, records: Records) -> list[str]:
        """A row of the table of verdicts: a line for each data set, and how it was measured."""
        evidence, references = filled(self.evidence, records)
        note, further = filled(self.note, records)
        used = [*references, *further]
        parts = [*LINE_END.split(evidence), note, small(provenance(used)), small(self.how(used))]
        shown = NEW_LINE.join(filter(None, parts))
        told = (self.where, self.claim, f"**{self.verdict}**", shown)
        return [cell.replace("|", "\\|") for cell in told]

    def how(self, references: Sequence[Reference]) -> str:
        """The command that repeats it."""
        if self.command:
            return f"`{self.command}`"
        if not self.study:
            return ""
        used = [r.record for r in references if r.record.content["study"] == self.study]
        data = unique(name for record in used for name in record.data) or STUDIES[self.study].data
        folders = " ".join(f"../shared/data/{name}" for name in data)
        return f"`python -m benchmarks.evidence run {self.study} --data {folders}`"


@dataclass(frozen=True)
class Paper:
    """All claims of a paper that one page of the documentation is about."""

    name: str
    title: str
    page: str
    claims: tuple[Claim, ...]

    @classmethod
    def read(cls, path: Path) -> Paper:
        """Of a TOML file; an unknown key or verdict is refused."""
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
            refuse_unknown(content, PAPER_KEYS)
            if missing := [key for key in PAPER_KEYS if not content.get(key)]:
                raise ClaimError(f"no {', '.join(missing)}")
            claims = tuple(Claim.parse(one) for one in content["claim"])
        except ValueError as error:
            raise ClaimError(f"{path.parent.name}/{path.name}: {error}") from error
        return cls(path.stem, content["paper"], content["page"], claims)

    def verdicts(self, records: Records) -> str:
        """The table of its verdicts."""
        rows = []
        for claim in self.claims:
            try:
                rows.append(claim.cells(records))
            except ValueError as error:
                raise ClaimError(f"{self.name}.toml, {claim.where}: {error}") from error
        return table(COLUMNS, rows)


def read_papers(folder: Path = CLAIMS) -> dict[str, Paper]:
    """All papers by the names of their files."""
    return {path.stem: Paper.read(path) for path in sorted(folder.glob("*.toml"))}


def provenance(references: Sequence[Reference]) -> str:
    """Seeds, data sets and commits behind some numbers."""
    if not references:
        return ""
    seeds = [reference.seeds for reference in references]
    data = unique(name for reference in references for name in reference.record.data)
    commits = unique(c for reference in references for c in reference.record.commits)
    counted = f"{span(seeds)} seed{'s' * (max(seeds) > 1)}"
    return SEVERAL.join((counted, ", ".join(data), ", ".join(commits)))


def small(text: str) -> str:
    """In small print; nothing remains nothing."""
    return text and f"<small>{text}</small>"


def summary(papers: Iterable[Paper]) -> str:
    """How many claims of each paper have which verdict."""
    counts: dict[str, Counter[str]] = {}
    for paper in papers:
        counts.setdefault(paper.title, Counter()).update(claim.verdict for claim in paper.claims)
    total = sum(counts.values(), Counter())
    rows = [
        [title, *(str(count[verdict]) for verdict in VERDICTS), str(count.total())]
        for title, count in (*counts.items(), ("all", total))
    ]
    return table(["paper", *VERDICTS, "claims"], rows)


def sections(papers: Iterable[Paper], records: Records) -> str:
    """A section for each paper; tables of several pages about the same paper follow each other."""
    by_title: dict[str, list[Paper]] = {}
    for paper in papers:
        by_title.setdefault(paper.title, []).append(paper)
    parts = []
    for title, ours in by_title.items():
        parts.append(f"## {title}\n")
        for paper in ours:
            parts.append(f"More on [its page]({paper.page}).\n\n{paper.verdicts(records)}")
    return "\n".join(parts)


def refuse_unknown(content: Mapping[str, Any], names: Sequence[str]) -> None:
    for key in content:
        if key not in names:
            raise ClaimError(f"unknown key {key!r}{nearest(key, names)}")


def unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
