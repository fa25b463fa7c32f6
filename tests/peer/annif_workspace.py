"""The real Annif, in an environment of its own, with projects about crafts."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.server.crafts import CORPUS, crafts_vocabulary

ANNIF = Path(__file__).resolve().parents[2] / ".peers" / "annif" / "bin" / "annif"
REASON = f"Annif is not installed at {ANNIF}: run python -m benchmarks.peers annif"
OMIKUJI, LEARNING = "crafts-omikuji-en", "crafts-dummy-en"
PROJECTS = f"""
[{OMIKUJI}]
name=Crafts
language=en
backend=omikuji
vocab=crafts
analyzer=simple
min_df=1

[{LEARNING}]
name=Crafts that learn
language=en
backend=dummy
vocab=crafts
allow_learn=true
"""
STARTED_WITHIN = 60  # seconds


@dataclass(frozen=True)
class Workspace:
    """A folder with Annif's projects, and commands run in it."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, more_projects: str = "") -> Workspace:
        """Configure projects and load the vocabulary."""
        made = cls(folder)
        (folder / "projects.cfg").write_text(PROJECTS + more_projects)
        (folder / "corpus.tsv").write_text(CORPUS)
        made.run("load-vocab", "crafts", str(crafts_vocabulary(folder)))
        return made

    def train(self) -> None:
        """Train what can be trained."""
        self.run("train", OMIKUJI, "corpus.tsv")

    def run(self, *arguments: str, given: str = "") -> str:
        """Return what a command of Annif prints."""
        done = subprocess.run(
            [ANNIF, *arguments],
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Run Annif's server, and give its address."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [ANNIF, "run", "--port", str(port)],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_for(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTED_WITHIN
    while True:
        try:
            httpx.get(url + "/v1/").raise_for_status()
        except httpx.TransportError:
            assert server.poll() is None, "Annif's server has ended"
            assert time.monotonic() < until, "Annif's server does not start"
            time.sleep(0.2)
        else:
            return
