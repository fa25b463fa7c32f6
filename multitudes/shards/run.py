"""What is finished of a run over shards: a file a piece, in a folder that all machines see.

    run/
      _run.json                   what is computed, of what, with which settings
      counts/00000.safetensors    a finished piece of the stage "counts"
      ...

A piece is written under another name and renamed, so that it is there whole or not at all. Whoever
starts the same run again finds what is there and computes the rest: a driver that was killed, or
another machine after one that died.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitudes.engine import Cluster
from multitudes.errors import ConfigError, StoreError
from multitudes.files import disk
from multitudes.progress import say, track
from multitudes.shards.places import as_place, exists, is_url, local_copy, put, scratch
from multitudes.store.files import dump_arrays, map_arrays

ABOUT = "_run.json"
SUFFIX = ".safetensors"

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Run:
    """A folder, or URL, of finished pieces; `token` tells it from one that was there before."""

    folder: str
    token: str

    @classmethod
    def open(cls, folder: str | os.PathLike[str], about: Mapping[str, Any]) -> Run:
        """Open the folder of a run, new or begun; refuse one of another run.

        Parameters
        ----------
        folder : path or URL
            All machines must see it.
        about : mapping
            What the result depends on: data and settings.
        """
        place = as_place(folder)
        run = cls(place if is_url(place) else str(Path(place).absolute()), secrets.token_hex(8))
        text = json.dumps(about, sort_keys=True, default=repr)
        mark = {"run": hashlib.sha256(text.encode()).hexdigest(), "token": run.token, **about}
        path = run._place(ABOUT)
        if not exists(path):
            run._write(path, json.dumps(mark, indent=1, default=repr).encode())
            return run
        try:
            before = json.loads(local_copy(path).read_bytes())
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read ({error}): remove the folder") from error
        if before.get("run") != mark["run"]:
            changed = [key for key in about if before.get(key) != json.loads(text)[key]]
            raise ConfigError(
                f"{run.folder} holds another run ({', '.join(changed) or 'settings'} differ): "
                "choose another folder, or remove it"
            )
        return cls(run.folder, str(before.get("token")))

    def has(self, stage: str, number: int) -> bool:
        """Return whether a piece is finished."""
        return exists(self._piece(stage, number))

    def read(self, stage: str, number: int) -> Arrays:
        """Return the arrays of a finished piece, mapped into memory."""
        place = self._piece(stage, number)
        path = local_copy(place, self.token)
        if not path.is_file():
            raise StoreError(
                f"{place} is missing, though it was finished: all machines must see the folder of "
                "the run; keep it on a shared disk, or at a URL"
            )
        return map_arrays(path)

    def write(self, stage: str, number: int, content: Arrays | bytes) -> None:
        """Write a piece: whole, or not at all."""
        self._write(self._piece(stage, number), content)

    def map(
        self,
        cluster: Cluster,
        stage: Stage,
        shared: Any,
        items: Sequence[Any],
        *,
        costs: Sequence[float],
    ) -> dict[int, float]:
        """Compute the pieces of a stage that are not finished yet: item i becomes piece i.

        Returns the seconds that each of them took.
        """
        missing = [number for number in range(len(items)) if not self.has(stage.name, number)]
        if len(missing) < len(items):
            done = len(items) - len(missing)
            say(f"{stage.doing}: {done:,} of {len(items):,} pieces are finished already")
        if not missing:
            return {}
        missing.sort(key=lambda number: -costs[number])  # longest first
        with track(stage.doing, total=float(sum(costs[n] for n in missing)), unit="") as progress:
            seconds = cluster.map(
                compute,
                (self, stage, shared),
                [(number, items[number]) for number in missing],
                costs=[costs[number] for number in missing],
                advance=progress.advance,
            )
        return dict(zip(missing, seconds, strict=True))

    def _place(self, name: str) -> str:
        return f"{self.folder.rstrip('/')}/{name}"

    def _piece(self, stage: str, number: int) -> str:
        return self._place(f"{stage}/{number:05d}{SUFFIX}")

    def _write(self, place: str, content: Arrays | bytes) -> None:
        home = scratch() if is_url(place) else Path(place).parent
        half = home / f".{Path(place).name}.{secrets.token_hex(8)}"
        try:
            disk.make_folder(home)
            with disk.new_file(half) as file:
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    dump_arrays(file, content)
        except OSError as error:
            half.unlink(missing_ok=True)
            raise StoreError(
                f"could not write to {home} ({error.strerror or error}): make room, or choose "
                "another folder; what is finished stays, and the same command goes on from it"
            ) from error
        put(half, place)


class Stage(NamedTuple):
    """A step of a run: its name, what it does in words, and the function for one piece.

    `compute(run, shared, item)` returns the arrays of the piece, or the bytes of its file; it is a
    function of a module.
    """

    name: str
    doing: str
    compute: Callable[[Any, Any, Any], Arrays | bytes]


def compute(shared: tuple[Run, Stage, Any], items: Sequence[tuple[int, Any]]) -> list[float]:
    """Compute some pieces, one after the other, and write each: what a machine does."""
    run, stage, common = shared
    seconds = []
    for number, item in items:
        start = time.perf_counter()
        if not run.has(stage.name, number):  # else a machine that died had finished it
            run.write(stage.name, number, stage.compute(run, common, item))
        seconds.append(time.perf_counter() - start)
    return seconds


def joined_strings(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return strings as arrays: the bytes of all, and where each ends, with a 0 before."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def cut_strings(pool: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> list[str]:
    """Return the strings that `joined_strings` made arrays of."""
    content, bounds = pool.tobytes(), ends.tolist()
    return [content[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(bounds)]
