"""Clients that send a byte a second, in a process of their own.

python -m benchmarks.serving.slow PORT N
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection

from benchmarks.machine import ROOT

REQUEST = (
    b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b'content-length: 32\r\n\r\n{"texts": ["slow, but it is so"]}'
)


async def send_slowly(port: int, wait: float) -> None:
    """Send a request byte by byte; begin again when the server has had enough."""
    await asyncio.sleep(wait)
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for place in range(len(REQUEST)):
                if reader.at_eof() or writer.is_closing():
                    break
                writer.write(REQUEST[place : place + 1])
                await writer.drain()
                await asyncio.sleep(1)
            writer.close()
        await asyncio.sleep(0.1)


async def main(port: int, n: int) -> None:
    """Be slow for ever."""
    await asyncio.gather(*(send_slowly(port, place / n) for place in range(n)))


@contextmanager
def slow_clients(port: int, n: int) -> Iterator[None]:
    """Have `n` of them for a while; begins when they are connected."""
    command = [sys.executable, "-m", "benchmarks.serving.slow", str(port), str(n)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        time.sleep(4)
        assert process.poll() is None
        probe = HTTPConnection("127.0.0.1", port, timeout=10)
        probe.request("GET", "/health")
        assert probe.getresponse().status == 200
        yield
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
