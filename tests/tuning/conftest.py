"""The toy as it was before each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.tuning.toy import Toy

pytest.importorskip("optuna")


@pytest.fixture
def before_fit() -> Iterator[Callable[..., None]]:
    """Have a function called before each training: (model, number of instances)."""

    def call(function: Callable[[Toy, int], None]) -> None:
        Toy.before_fit = staticmethod(function)

    yield call
    Toy.before_fit = None
