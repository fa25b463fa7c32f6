"""Large requests are read a few at a time, and slow ones keep nobody waiting."""

import asyncio

from multitudes.server import Limits
from multitudes.server.bodies import TURNS, Room, WholeBodies
from multitudes.server.reading import SMALL

LARGE = SMALL + 1


class Served:
    """An application behind `WholeBodies`, and how many clients it is reading."""

    def __init__(self):
        self.reading = self.most = 0
        self.answered = []
        self.app = WholeBodies(self.answer, limits=Limits(), room=Room(10**9))

    async def answer(self, scope, receive, send):
        self.answered.append(len((await receive())["body"]))

    async def ask(self, size, wait=0.0):
        """Send a request of a size, after a while; whole, in one piece."""
        headers = [(b"content-length", str(size).encode())]

        async def receive():
            self.reading += 1
            self.most = max(self.most, self.reading)
            try:
                await asyncio.sleep(wait)
            finally:
                self.reading -= 1
            return {"type": "http.request", "body": b"x" * size, "more_body": False}

        await self.app({"type": "http", "headers": headers}, receive, None)


def test_few_large_requests_are_read_at_once():
    async def scenario():
        served = Served()
        await asyncio.gather(*(served.ask(LARGE, 0.001) for _ in range(40)))
        return served

    served = asyncio.run(scenario())
    assert served.answered == [LARGE] * 40
    assert served.most == TURNS


def test_small_requests_need_no_turn():
    async def scenario():
        served = Served()
        await asyncio.gather(*(served.ask(SMALL, 0.001) for _ in range(40)))
        return served

    served = asyncio.run(scenario())
    assert served.answered == [SMALL] * 40
    assert served.most == 40


def test_clients_that_send_nothing_lose_their_turn_and_are_still_answered():
    async def scenario():
        served = Served()
        slow = [asyncio.create_task(served.ask(LARGE, 0.6)) for _ in range(2 * TURNS)]
        await asyncio.sleep(0)
        await served.ask(LARGE + 1)
        first = list(served.answered)
        await asyncio.gather(*slow)
        return first, served

    first, served = asyncio.run(scenario())
    assert first == [LARGE + 1]
    assert served.answered == [LARGE + 1] + [LARGE] * 2 * TURNS
