"""A campaign whose cases are seeds, given to functions that raise if two answers differ."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from campaigns.framework import Campaign, Case


class Comparing(Campaign):
    """Answers are compared; subclass it and say by which functions."""

    functions: ClassVar[Mapping[str, Callable[[np.random.Generator], None]]]
    reducible = False
    time_limit = 60.0
    default_cases = 20_000

    def prepare(self, folder: Path) -> None:
        """Compile kernels once, for all workers."""
        missing = self.unavailable()
        for name in self.targets:
            if name not in missing:
                with contextlib.suppress(Exception):  # of a case, which will be met again
                    self.run(Case(name, b"first"))

    def draw(self, rng: random.Random, target: str) -> Case:
        return Case(target, rng.randbytes(8))

    def describe(self, case: Case) -> str:
        return f"{case.target}: numpy.random.default_rng({int.from_bytes(case.content, 'little')})"

    def run(self, case: Case) -> None:
        self.functions[case.target](np.random.default_rng(int.from_bytes(case.content, "little")))
