"""Folders of models that are looked at now and then: what is new there is taken up.

A new version is read and tried out beside the one that is served, which goes on until then; if it
cannot be read, a line in the log says why, once, and nothing changes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from multitudes.server.models import Models, version_of
from multitudes.store.manifest import MANIFEST

logger = logging.getLogger("multitudes.server")

EVERY = 1.0  # seconds between two looks

Signature = tuple[int, int, int]


class Folders:
    """Tells which models have another version in their folders.

    Parameters
    ----------
    models : Models
    """

    def __init__(self, models: Models) -> None:
        self.models = models
        self._seen: dict[str, Signature | None] = {}

    def changed(self) -> list[str]:
        """Return the names of models whose folder has changed since it was looked at last."""
        found = []
        for served in self.models:
            if served.path is None:
                continue
            signature = _signature(served.path)
            if signature is None or self._seen.get(served.name) == signature:
                continue  # missing while it is being replaced: look again
            self._seen[served.name] = signature
            if _is_new(served.path, served.version):
                found.append(served.name)
        return found


def take_up(models: Models, name: str, say: Callable[[int, str], object] = logger.log) -> bool:
    """Read a model again; say what was done, or why not. Returns whether there is a new one."""
    old = models.get(name)
    try:
        new = models.reload(name)
    except Exception as error:  # noqa: BLE001  whatever is wrong with it, the old one goes on
        say(
            logging.WARNING,
            f"the new version of {name!r} in {old.path} is not served, the one before goes on: "
            f"{type(error).__name__}: {error}",
        )
        return False
    if new is old:
        return False
    say(
        logging.INFO,
        f"{name!r} is served as version {new.version} now, before it was {old.version}",
    )
    return True


@contextmanager
def watched(models: Models, *, every: float = EVERY) -> Iterator[None]:
    """Take up new versions in a thread for as long as this lasts."""
    ended = threading.Event()
    folders = Folders(models)

    def watch() -> None:
        while not ended.wait(every):
            for name in folders.changed():
                take_up(models, name)

    thread = threading.Thread(target=watch, name="watching", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()


def _signature(path: Path) -> Signature | None:
    """Return what changes whenever a model is saved anew; None if there is none."""
    try:
        found = (path / MANIFEST).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_new(path: Path, version: str) -> bool:
    try:
        return version_of(path) != version
    except Exception:  # noqa: BLE001  it cannot be read: who takes it up says why
        return True
