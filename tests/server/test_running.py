"""The socket a server listens at."""

import socket

import pytest

pytest.importorskip("fastapi")

from multitudes.server.running import bound


def test_small_answers_are_sent_at_once():
    # asyncio turns Nagle's algorithm off for sockets that say they are TCP; else answers that are
    # written in two parts wait 40 ms for each other.
    with bound("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
