"""Peers' environments: made on demand, never half, and their snippets' answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import peers


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every peer is the Python that runs the tests."""
    monkeypatch.setattr(peers, "python_of", lambda peer: Path(sys.executable))


@pytest.mark.usefixtures("here")
def test_a_snippet_answers_in_json_whatever_it_prints() -> None:
    code = "print('noise'); result = {'sum': sum(values)}"
    assert peers.run_in("napkinxc", code, {"values": [1, 2]}) == {"sum": 3}


@pytest.mark.usefixtures("here")
def test_a_snippet_that_fails() -> None:
    with pytest.raises(peers.PeerError, match="ZeroDivisionError"):
        peers.run_in("napkinxc", "1 / 0", {})


def test_an_unknown_peer() -> None:
    with pytest.raises(peers.PeerError, match="no peer 'other'; known: pecos"):
        peers.python_of("other")


def test_an_environment_that_cannot_be_made_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    monkeypatch.setattr(peers, "FOLDER", tmp_path / ".peers")
    monkeypatch.setitem(peers.REQUIREMENTS, "none", (str(tmp_path / "no-such-wheel.whl"),))
    with pytest.raises(peers.PeerError, match="no-such-wheel"):
        peers.python_of("none")
    assert not (tmp_path / ".peers" / "none").exists()


def test_each_peer_has_requirements_and_a_name() -> None:
    assert peers.REQUIREMENTS.keys() == peers.DISTRIBUTIONS.keys()
