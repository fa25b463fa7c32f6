"""The socket a server listens at."""

import re
import socket
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from multitudes.server import Limits
from multitudes.server.running import bound


def test_small_answers_are_sent_at_once():
    # asyncio turns Nagle's algorithm off for sockets that say they are TCP; else answers that are
    # written in two parts wait 40 ms for each other.
    with bound("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_the_page_lists_every_limit_with_its_default():
    page = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `--([a-z-]+)` \| ([\d,]+(?: MB)?) \| \w", page, re.M))
    for name, _, default, _ in Limits.describe():
        shown = listed.pop(name.replace("_", "-"))
        assert float(shown.replace(",", "").replace(" MB", "000000")) == default
    assert not listed
