"""A model that is a number, large enough for several files."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from multitudes.store import State, register


class NumberedModel:
    """Every part of it says the same number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def to_state(self) -> State:
        inner = State("reliability-part", arrays={"values": np.full(50, self.number)})
        return State(
            "reliability-model",
            {"number": self.number},
            {"values": np.full(100, self.number)},
            {"names": [str(self.number)] * 10},
            {"inner": inner},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        inner = state.parts["inner"].arrays["values"] if state.parts else state.arrays["values"]
        numbers = {int(value) for value in [*inner, *state.arrays["values"]]}
        numbers |= {int(name) for name in state.strings.get("names", ())}
        (number,) = numbers | {state.config.get("number", *numbers)}
        return cls(number)


class Part(NumberedModel):
    """What lies in a sub-folder."""


register("reliability-model", NumberedModel)
register("reliability-part", Part)


def numbered(number: int) -> NumberedModel:
    return NumberedModel(number)


def number_of(model: Any) -> int:
    return int(model.number)
