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
Content = Arrays | list[Arrays] | bytes
"""Of a file: arrays, or parts that are put one after the other, see `dump_arrays`; or any bytes."""


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

    def file(self, stage: str, number: int) -> Path:
        """Return a file of this machine that holds a finished piece."""
        place = self._piece(stage, number)
        path = local_copy(place, self.token)
        if not path.is_file():
            raise StoreError(
                f"{place} is missing, though it was finished: all machines must see the folder of "
                "the run; keep it on a shared disk, or at a URL"
            )
        return path

    def has(self, stage: str, number: int) -> bool:
        """Return whether a piece is finished."""
        return exists(self._piece(stage, number))

    def read(self, stage: str, number: int) -> Arrays:
        """Return the arrays of a finished piece, mapped into memory."""
        return map_arrays(self.file(stage, number))

    def write(self, stage: str, number: int, content: Content, *, durable: bool = False) -> None:
        """Write a piece: whole, or not at all; if `durable`, it is forced onto the disk as well."""
        self._write(self._piece(stage, number), content, durable=durable)

    def map(
        self,
        cluster: Cluster,
        stage: Stage,
        shared: Any,
        items: Sequence[Any],
        *,
        costs: Sequence[float],
        finished: Callable[[int], None] | None = None,
    ) -> None:
        """Compute the pieces of a stage that are not finished yet: item i becomes piece i.

        `finished` is told the number of each piece, in any order, while others are computed.
        """

        def below(number: int) -> Sequence[Piece]:
            if finished is not None:
                finished(number)
            return ()

        pieces = [Piece(i, *both) for i, both in enumerate(zip(items, costs, strict=True))]
        self.grow(cluster, stage, shared, pieces, below)

    def grow(
        self,
        cluster: Cluster,
        stage: Stage,
        shared: Any,
        pieces: Sequence[Piece],
        below: Callable[[int], Sequence[Piece]],
        *,
        total: float | None = None,
    ) -> list[Computed]:
        """Compute pieces that are not finished yet, and those that follow from them.

        Parameters
        ----------
        below : callable
            Told the number of a piece that is finished, now or before; returns what can be computed
            now. Pieces wait for nothing else.
        total : float, optional
            What all pieces cost, for the display; defaults to the cost of `pieces`.

        Returns
        -------
        list of Computed
            What was computed here, in the order in which it could be.
        """
        done = 0

        def missing(pieces: Sequence[Piece]) -> list[Piece]:
            """Those that are not finished, and what follows from the others: longest first."""
            nonlocal done
            found, seen = [], list(pieces)
            while seen:
                piece = seen.pop()
                if self.has(stage.name, piece.number):
                    done += 1
                    seen += below(piece.number)
                else:
                    found.append(piece)
            return sorted(found, key=lambda piece: (-piece.cost, piece.number))

        def further(place: int) -> list[tuple[tuple[int, Any], float]]:
            new = missing(below(todo[place].number))
            todo.extend(new)
            return [((piece.number, piece.item), piece.cost) for piece in new]

        todo = missing(pieces)
        if done:
            say(f"{stage.doing}: {done:,} pieces are finished already")
        if not todo:
            return []
        if total is None:
            total = sum(piece.cost for piece in todo)
        with track(stage.doing, total=total, unit="") as progress:
            try:
                seconds = cluster.map(
                    compute,
                    (self, stage, shared, secrets.token_hex(8)),
                    [(piece.number, piece.item) for piece in todo],
                    costs=[piece.cost for piece in todo],
                    advance=progress.advance,
                    further=further,
                )
            finally:
                _kept.clear()  # of a cluster that is this process
        return [Computed(p.number, p.cost, s) for p, s in zip(todo, seconds, strict=True)]

    def _place(self, name: str) -> str:
        return f"{self.folder.rstrip('/')}/{name}"

    def _piece(self, stage: str, number: int) -> str:
        return self._place(f"{stage}/{number:05d}{SUFFIX}")

    def _write(self, place: str, content: Content, *, durable: bool = False) -> None:
        home = scratch() if is_url(place) else Path(place).parent
        half = home / f".{Path(place).name}.{secrets.token_hex(8)}"
        try:
            disk.make_folder(home)
            with disk.new_file(half) as file:
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    dump_arrays(file, content if isinstance(content, list) else [content])
            if durable:
                disk.sync_file(half)
        except OSError as error:
            half.unlink(missing_ok=True)
            raise StoreError(
                f"could not write to {home} ({error.strerror or error}): make room, or choose "
                "another folder; what is finished stays, and the same command goes on from it"
            ) from error
        put(half, place)


class Piece(NamedTuple):
    """A piece of work of a stage: its number, what it is made of, and about what it costs."""

    number: int
    item: Any
    cost: float


class Computed(NamedTuple):
    """A piece that was computed: its number, what it was to cost, and the seconds it took."""

    number: int
    cost: float
    seconds: float


class Stage(NamedTuple):
    """A step of a run: its name, what it does in words, and the function for one piece.

    `compute(run, shared, item)` returns the content of the piece; it is a function of a module.
    """

    name: str
    doing: str
    compute: Callable[[Any, Any, Any], Content]


_kept: dict[str, Any] = {}
"""What all pieces of the stage at work share, as this process has it; a stage has a name here."""


def compute(shared: tuple[Run, Stage, Any, str], items: Sequence[tuple[int, Any]]) -> list[float]:
    """Compute some pieces, one after the other, and write each: what a machine does.

    A worker gets what is shared with each order, but keeps the first: the files that it has mapped
    stay mapped for all pieces of the stage.
    """
    run, stage, received, name = shared
    common = _kept.get(name)
    if common is None:
        _kept.clear()
        _kept[name] = common = received
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
