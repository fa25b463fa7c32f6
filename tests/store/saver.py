"""Saves numbered models without end, in a child for every line ``PATH FIRST NOTE`` on stdin.

Prints the child's process id; the child notes in the file NOTE the last number it has saved. One
warm process that forks makes a new saver in a millisecond, where starting Python takes a hundred.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import safetensors.numpy  # noqa: F401  warm before the fork
from box import numbered

from multitudes.store import save


def save_forever(path: str, number: int, note: str) -> None:
    handle = os.open(note, os.O_WRONLY)
    while True:
        save(numbered(number), path)
        os.pwrite(handle, struct.pack("q", number), 0)
        number += 1


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: a dead child is gone at once
    for line in sys.stdin:
        path, first, note = line.rstrip("\n").split("\t")
        pid = os.fork()
        if not pid:
            save_forever(path, int(first), note)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
