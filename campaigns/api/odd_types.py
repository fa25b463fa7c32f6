"""Values of types that no signature allows, and the note that one was drawn."""

from __future__ import annotations

import decimal
import random
from collections.abc import Callable
from typing import Any

import numpy as np

THINGS: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: "x", lambda: "", lambda: b"x", lambda: [], lambda: (), lambda: {},
    lambda: [1, 2],
    lambda: {"a": 1}, lambda: {1, 2}, lambda: 1 + 2j, lambda: decimal.Decimal("1.5"),
    lambda: object(),
    lambda: np.array([]), lambda: np.array(1.5), lambda: np.nan, lambda: int, lambda: len,
    lambda: iter("ab"),
    lambda: range(3), lambda: Ellipsis, lambda: np.zeros((2, 2, 2)), lambda: ["a", None],
    lambda: True,
)  # fmt: skip


class Mistyped:
    """Whether a value of a type that no signature allows was drawn since `begin`.

    Python's own errors are then an answer as good as ours: a list is not a path.
    """

    drawn = False

    @classmethod
    def begin(cls) -> None:
        """Forget what was drawn before."""
        cls.drawn = False


def mistyped(value: Any) -> Any:
    """Return a value, and note that it is of a wrong type."""
    Mistyped.drawn = True
    return value


def thing(rng: random.Random) -> Any:
    """Return something of any type."""
    return mistyped(rng.choice(THINGS)())
