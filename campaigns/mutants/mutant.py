"""A module of the library with one change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A module with one change; `in_body` if the change lies in the body of a function."""

    file: str
    line: int
    statement: tuple[int, int]
    function: str
    operator: str
    before: str
    after: str
    source: str
    in_body: bool

    def key(self) -> str:
        """Name the change; it stays the same when other lines of the file change."""
        return f"{self.file} {self.function}: {self.before} -> {self.after}"
