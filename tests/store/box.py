"""A small storable object with a part, for the tests of the store."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from multitudes.store import State, build, register


class Box:
    """Holds anything a State can hold."""

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        arrays: dict[str, Any] | None = None,
        strings: dict[str, list[str]] | None = None,
        inner: Box | None = None,
    ) -> None:
        self.config, self.arrays = config or {}, arrays or {}
        self.strings, self.inner = strings or {}, inner

    def to_state(self) -> State:
        parts = {} if self.inner is None else {"inner": self.inner.to_state()}
        return State("test-box", self.config, self.arrays, self.strings, parts)

    @classmethod
    def from_state(cls, state: State) -> Self:
        inner = build(state.parts["inner"]) if "inner" in state.parts else None
        return cls(dict(state.config), dict(state.arrays), dict(state.strings), inner)


register("test-box", Box)


def numbered(number: int) -> Box:
    """A model in which every file says `number`."""
    inner = Box(arrays={"n": np.full(1000, number)}, strings={"words": [str(number)] * 100})
    return Box(
        {"number": number},
        {"n": np.full((50, 7), number, np.float32)},
        {"names": [f"label {number}"] * 20},
        inner,
    )


def number_of(box: Box) -> int:
    """The number of a `numbered` box; fails unless all its files agree."""
    numbers = {box.config["number"], *box.arrays["n"].ravel().tolist()}
    numbers |= set(box.inner.arrays["n"].tolist()) | {int(w) for w in box.inner.strings["words"]}
    numbers |= {int(name.removeprefix("label ")) for name in box.strings["names"]}
    assert len(numbers) == 1, numbers
    return int(numbers.pop())
