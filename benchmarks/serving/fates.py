"""What becomes of each request when a server is told to end while many are asking."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.serving.processes import Running

PATIENCE = 30.0  # seconds for an answer


class Client:
    """Asks over one connection after the other, until connections are refused."""

    def __init__(self, port: int, bodies: list[bytes], fates: Counter[str]) -> None:
        self.port = port
        self.bodies = bodies
        self.fates = fates

    async def ask(self) -> None:
        """Ask and ask."""
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                self.fates["refused"] += 1
                return
            try:
                while await self._exchange(reader, writer):
                    pass
            finally:
                writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Ask once; returns whether the connection stays open."""
        body = self.bodies[sum(self.fates.values()) % len(self.bodies)]
        head = b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in answer.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self.fates["lost"] += 1
            return False
        self.fates["answered" if answer.split()[1] == b"200" else "told to come again"] += 1
        return b"connection: close" not in answer


async def _asked_until_the_end(running: Running, bodies: list[bytes], n: int) -> Counter[str]:
    fates: Counter[str] = Counter()
    asking = [asyncio.create_task(Client(running.port, bodies, fates).ask()) for _ in range(n)]
    await asyncio.sleep(3)
    fates["before"] = fates["answered"]
    running.process.terminate()
    await asyncio.gather(*asking)
    return fates


def end_under_load(running: Running, bodies: Path, n: int) -> dict[str, Any]:
    """Tell a server to end while `n` clients ask; returns what became of their requests."""
    content = bodies.read_bytes().splitlines()
    fates = asyncio.run(_asked_until_the_end(running, content, n))
    return {
        "connections": n,
        "answered": fates["answered"],
        "answered_after_the_signal": fates["answered"] - fates["before"],
        "told_to_come_again": fates["told to come again"],
        "refused_connections": fates["refused"],
        "lost": fates["lost"],
        "exit_code": running.process.wait(60),
    }
