"""``python -m campaigns.api``: drawn arguments for every public callable."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaigns.api.calls import CONSTRUCTED, Target, all_targets
from campaigns.api.odd_types import Mistyped
from campaigns.api.subjects import NEEDS, Subjects, arguments_of_fit
from campaigns.framework import Campaign, Case, Outcome, main
from multitudes.errors import MultitudesError

SLOW = {"Prime.fit": 0.02, "OTSeq2Set.fit": 0.02, "DeepMIML.fit": 0.05, "Prime.partial_fit": 0.05,
        "Prime.add_labels": 0.1, "make_catalogue": 0.2, "Eagle.fit": 0.3}  # fmt: skip
MAX_MEMORY = "1GB"
PYTHONS_OWN = (TypeError, AttributeError, ValueError)
"""What Python and numpy say about a value of a wrong type."""


class Api(Campaign):
    """No argument of a public callable brings a crash, a hang or an error that is not ours."""

    name = "api"
    batch = 500
    reducible = False
    default_cases = 10_000

    def __init__(self) -> None:
        self.by_name = {target.name: target for target in all_targets()}
        self.targets = list(self.by_name)
        self.weights = [SLOW.get(name, 1.0) for name in self.targets]
        self.subjects: Subjects | None = None

    def prepare(self, folder: Path) -> None:
        self.enter(folder)
        for number, name in enumerate(self.targets):  # compiles and caches kernels
            if self.weights[number] == 1.0:
                for seed in range(3):
                    with contextlib.suppress(Exception):
                        self._call(self.by_name[name], random.Random(seed), good=True)

    def enter(self, folder: Path) -> None:
        os.environ["MULTITUDES_MAX_MEMORY"] = MAX_MEMORY
        os.environ["MULTITUDES_CACHE"] = str(folder / "cache")
        self.subjects = Subjects()
        for name, target in self.by_name.items():
            if name not in SLOW:
                with contextlib.suppress(Exception):
                    self._call(target, random.Random(0), good=True)

    def unavailable(self) -> dict[str, str]:
        missing = self.subjects.missing if self.subjects is not None else NEEDS
        return {
            name: str(missing[target.subject])
            for name, target in self.by_name.items()
            if self.subjects is not None and target.subject in missing
        }

    def draw(self, rng: random.Random, target: str) -> Case:
        return Case(target, rng.randbytes(8))

    def describe(self, case: Case) -> str:
        given = self.by_name[case.target].arguments(random.Random(case.content))
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
        return f"{case.target}({shown})"

    def run(self, case: Case) -> Outcome | None:
        Mistyped.begin()
        try:
            self._call(self.by_name[case.target], random.Random(case.content), good=False)
        except PYTHONS_OWN as error:
            if Mistyped.drawn and not isinstance(error, MultitudesError):
                return Outcome("refused", f"{type(error).__name__}: {error}")
            raise
        return None

    def _call(self, target: Target, rng: random.Random, *, good: bool) -> None:
        if good:
            given = {
                name: kind.good(rng) for name, kind in target.kinds.items() if kind.good is not None
            }
        else:
            given = target.arguments(rng)
        if target.subject:
            assert self.subjects is not None
            function = getattr(self.subjects.fresh(target.subject), target.call)
        else:
            function = target.call
        first = [given.pop(name) for name in target.required if name in target.positional]
        answer = function(*first, **given)
        owner = target.name.removesuffix("(...)")
        if target.name.endswith("(...)") and owner in CONSTRUCTED and hasattr(answer, "fit"):
            answer = answer.fit(*arguments_of_fit(owner))
        _used(answer)


def _used(answer: Any) -> None:
    """Look at an answer as a user would: iterate, enter, show."""
    if hasattr(answer, "__enter__") and not hasattr(answer, "read"):
        with answer:
            pass
    elif isinstance(answer, Iterator):
        list(itertools.islice(answer, 20))
    else:
        repr(answer)


def _shown(value: Any) -> str:
    """A value in words: odd ones may not even have a repr."""
    kind = f"{type(value).__module__}.{type(value).__name__}"
    try:
        if hasattr(value, "format") and hasattr(value, "shape"):
            parts = ", ".join(
                f"{name}={getattr(value, name, None)!r}"[:160]
                for name in ("data", "indices", "indptr", "coords", "offsets")
                if hasattr(value, name)
            )
            return f"<{kind} {value.shape} {value.dtype} {parts}>"
        return repr(value)[:300]
    except Exception:  # noqa: BLE001 - whatever it is, it is shown by its type
        return f"<{kind}>"


if __name__ == "__main__":
    sys.exit(main(Api()))
