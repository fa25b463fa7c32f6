"""A campaign with one planted fault of each kind: what the framework must find and attribute."""

from __future__ import annotations

import ctypes
import random
import sys
import time

from campaigns.framework import Campaign, Case, Nameless, SilentChange, Skipped, main
from multitudes.errors import DataError

MIB = 1 << 20


class Planted(Campaign):
    """Faults that are known."""

    name = "planted"
    targets = ("good", "refusing", "foreign", "segfault", "hang", "hog", "wish", "silent",
               "nameless", "absent", "slow")  # fmt: skip
    time_limit = 2.0
    memory_bound = 40 * MIB
    address_space = 1000 * MIB
    batch = 30
    reduce_seconds = 1.5

    def draw(self, rng: random.Random, target: str) -> Case:
        content = bytearray(rng.choices(b"abc\n", k=60))
        if rng.random() < self.share(target):
            content.insert(rng.randrange(len(content)), ord("!"))
        return Case(target, bytes(content))

    def share(self, target: str) -> float:
        return 0.02 if target == "hang" else 0.3

    def unavailable(self) -> dict[str, str]:
        return {"absent": "needs what is not there"}

    def run(self, case: Case) -> None:
        if b"!" not in case.content or case.target == "good":
            return
        getattr(self, case.target)()

    def slow(self) -> None:
        time.sleep(0.02)

    def refusing(self) -> None:
        raise DataError("not so")

    def foreign(self) -> None:
        {}["key"]

    def segfault(self) -> None:
        ctypes.string_at(0)

    def hang(self) -> None:
        time.sleep(1000)

    def hog(self) -> None:
        bytearray(b"x") * (80 * MIB)

    def wish(self) -> None:
        bytearray(4000 * MIB)

    def silent(self) -> None:
        raise SilentChange("other answers")

    def nameless(self) -> None:
        raise Nameless("which file?")

    def absent(self) -> None:
        raise Skipped("never reached")


if __name__ == "__main__":
    sys.exit(main(Planted()))
