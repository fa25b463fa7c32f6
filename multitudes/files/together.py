"""Files that belong to each other, such as features and labels: all of them appear, or none.

Each is written to its temporary first. When all are on the disk, a list of them is put beside them:

    .trn.X.npz.multitudes-commit    {"trn.X.npz": [inode, bytes, time], "trn.Y.npz": ...}

From then on the new files count: a process that is killed before it has renamed them all leaves the
list, and whoever reads or writes there next finishes what it says.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from multitudes.files import disk
from multitudes.files.lease import HeldError, beside, held, hidden
from multitudes.stopping import exposed, shielded

TEMPORARY = ".multitudes-tmp"
COMMIT = ".multitudes-commit"
MOST = 100  # files that wait; of more, such as a folder of documents, each is whole by itself
_SECONDS_TO_WAIT = 5.0  # for a living writer to rename its files

_here = threading.local()


class Group:
    """Files of one writer that wait to appear."""

    def __init__(self) -> None:
        self.targets: list[Path] = []
        self.leases = ExitStack()

    def add(self, target: Path) -> None:
        """Take a file whose temporary is whole."""
        self.targets.append(target)
        if len(self.targets) >= MOST:
            self.publish()

    def again(self, target: Path) -> bool:
        """Give a file back that is to be written once more; return whether there is one."""
        known = target in self.targets
        if known:
            self.targets.remove(target)
        return known

    def publish(self) -> None:
        """Let all files appear."""
        with shielded():
            folders = sorted({target.parent for target in self.targets})
            lists = [self._announce(folder) for folder in folders]
            waiting, self.targets = self.targets, []  # announced: whoever comes next finishes them
            for target in waiting:
                try:
                    disk.replace(temporary_of(target), target)
                except OSError:
                    if not any(lists):
                        disk.remove(temporary_of(target))
                    raise
            for folder in folders:
                disk.sync_folder(folder)
            for path in filter(None, lists):
                disk.remove(path)
            self.leases.close()

    def _announce(self, folder: Path) -> Path | None:
        names = [target.name for target in self.targets if target.parent == folder]
        if len(names) < 2:
            return None
        path = folder / (hidden(names[0]) + COMMIT)
        marks = {name: _mark(temporary_of(folder / name)) for name in names}
        draft = temporary_of(path)
        with held(beside(path)):
            try:
                disk.write_bytes(draft, json.dumps(marks).encode())
                disk.sync_file(draft)
                disk.replace(draft, path)
            except OSError:
                disk.remove(draft)
                raise
        disk.sync_folder(folder)
        return path

    def abandon(self) -> None:
        """Remove what has not appeared."""
        for target in self.targets:
            disk.remove(temporary_of(target))
        self.leases.close()


def temporary_of(target: Path) -> Path:
    """Return where a file is written until it is whole."""
    return target.with_name(hidden(target.name) + TEMPORARY)


def current() -> Group | None:
    """Return the group that this thread writes; None if each file appears by itself."""
    group: Group | None = getattr(_here, "group", None)
    return group


@contextmanager
def together() -> Iterator[None]:
    """Let the files that the body writes with `replaced_file` appear at its end, all or none."""
    if getattr(_here, "group", None) is not None:
        yield
        return
    with shielded():
        group = _here.group = Group()
        try:
            with exposed():
                yield
            group.publish()
        finally:
            _here.group = None
            group.abandon()


def finish(folder: Path) -> None:
    """Finish what a killed writer of several files has left to be renamed in a folder.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(COMMIT)]
    except OSError:
        return  # missing, or not to be read: whoever needs it will say so
    for name in names:
        _finish(folder / name)


def _finish(path: Path) -> None:
    with shielded(), ExitStack() as stack, suppress(HeldError):  # alive: it will do so itself
        for name in _announced(path):
            stack.enter_context(held(beside(path.with_name(name)), wait=_SECONDS_TO_WAIT))
        marks = _announced(path)  # nothing if somebody else was faster
        for name, mark in marks.items():
            target = path.with_name(name)
            if _mark(temporary_of(target)) == mark:  # and not of somebody who began since
                disk.replace(temporary_of(target), target)
        if marks:
            disk.sync_folder(path.parent)
            disk.remove(path)


def _announced(path: Path) -> dict[str, list[int]]:
    """Return what a list says; nothing if it is gone, or not ours."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    plain = isinstance(found, dict) and all(Path(name).name == name for name in found)
    return found if plain else {}


def _mark(path: Path) -> list[int]:
    """Return what tells a file from one that is written later under the same name."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return []
    return [about.st_ino, about.st_size, about.st_mtime_ns]
