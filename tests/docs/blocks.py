"""The code blocks of a page, and what the page says about running them.

A comment right before a block says what is special about it:

    <!-- run: no, needs a GPU -->      not run: commands must parse, Python must compile
    <!-- run: with model -->           a trained, calibrated model stands in the folder as `model`
    <!-- run: with pecos-model rows.txt -->     so do other things by name, see `conftest.shop`
    <!-- run: shows real data -->      what is printed is compared where the real data is there
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REAL = "shows real data"
SHELL = ("sh", "shell", "bash")
RUN = (*SHELL, "python", "console")
SHOWN = ("json", "toml", "csv", "text", "tsv", "")
FENCE = re.compile(
    r"(?:<!-- run: (?P<directive>[^\n]*?) -->\s*\n)?"
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    language: str
    code: str
    line: int
    title: str | None = None
    directive: str | None = None

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.is_skipped and self.title is None

    @property
    def needs(self) -> list[str]:
        with_what = self.directive or ""
        return with_what.split()[1:] if with_what.startswith("with ") else []

    @property
    def is_skipped(self) -> bool:
        return (self.directive or "").startswith("no, ")


@cache
def blocks_of(page: Path) -> tuple[Block, ...]:
    text = page.read_text(encoding="utf-8")
    return tuple(
        Block(
            found["language"],
            found["code"],
            text[: found.start("code")].count("\n"),
            found["title"],
            found["directive"],
        )
        for found in FENCE.finditer(text)
    )


def fences(page: Path) -> int:
    """How many blocks there are, counted without looking at how they are written."""
    return len(re.findall(r"^\s*```", page.read_text(encoding="utf-8"), flags=re.MULTILINE)) // 2


def commands(code: str) -> list[str]:
    """The commands of a shell block; a backslash at the end of a line continues it."""
    joined = re.sub(r"\\\n\s*", "", code)
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def sessions(code: str) -> list[tuple[str, str]]:
    """(command, output) pairs of a console block."""
    parts = re.split(r"^\$ ", re.sub(r"\\\n\s*", "", code), flags=re.MULTILINE)
    return [tuple(part.split("\n", 1)) for part in parts if part.strip()]  # type: ignore[misc]
