"""A trial that fails says who failed, at what, and why."""

from __future__ import annotations

import pytest

from benchmarks.peers import PeerError
from benchmarks.trees.trials import trial


def test_a_contestant_that_fails_is_named_with_its_error() -> None:
    with pytest.raises(PeerError, match=r"(?s)ours failed to train:.*KeyError"):
        trial("ours", "train", {"n_jobs": 1})


def test_an_unknown_contestant() -> None:
    with pytest.raises(PeerError, match="no peer 'other'"):
        trial("other", "train", {"n_jobs": 1})
