"""Files of the user: reading with options by name, ``-`` for stdin and stdout, pipes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from multitudes.cli import options
from multitudes.cli.printing.wording import in_flags
from multitudes.cli.printing.wrapping import terminal_width, wrapped
from multitudes.errors import ConfigError, DataError, ResourceError
from multitudes.files.scratch import scratch_folder

if TYPE_CHECKING:
    from multitudes.data import Dataset, LabelSpace, ReadReport

STANDARD = Path("-")
_PIECE_BYTES = 1 << 22
_ROOM_LEFT = 100_000_000  # bytes, for others that need the disk
FILE_SETTINGS = {"group_labels", "instance_groups", "vocabulary"}


@dataclass(frozen=True)
class Reading:
    """How data is read."""

    format: options.Format = None
    read: options.Read = None
    quiet: options.Quiet = False
    on_error: str = "raise"

    def dataset(
        self,
        path: Path,
        *,
        labels: LabelSpace | None = None,
        split: str = "trn",
        group_labels: Path | None = None,
        require_labels: bool = False,
        tagging: bool = False,
    ) -> Dataset:
        """Read a file, a folder (its part `split`), a pipe or stdin; say what was read.

        Parameters
        ----------
        path : Path
        labels : LabelSpace, optional
            The label space to read over.
        split : str
            The part of a folder.
        group_labels : Path, optional
            The labels of groups.
        require_labels : bool
            Whether data without labels is an error, which says how to name them.
        tagging : bool
            Whether labels of the data do not matter, so that unknown ones are not worth a word.
        """
        from multitudes import data

        given = {"split": split, "on_error": self.on_error, "require_labels": require_labels}
        settings: dict[str, Any] = given | self.settings()
        if group_labels is not None:
            settings["group_labels"] = str(group_labels)
        with local_path(path) as file, _local_files(settings) as named:
            chosen = data.ReadOptions.from_dict(named)
            dataset = data.read_dataset(file, format=self.format, labels=labels, options=chosen)
        self._tell(path, dataset.report, tagging=tagging)
        return dataset

    def _tell(self, path: Path, report: ReadReport | None, *, tagging: bool) -> None:
        """Say at once what was read as what, and what was left out."""
        if report is None or self.quiet:
            return
        name = "stdin" if path == STANDARD else str(path)
        if report.taken:
            remark(f"{name} ({report.format}): {report.taken}")
        if tagging:
            report = replace(report, unknown_labels=0)
        if report:
            remark(in_flags(f"{name}: {report}"))

    def settings(self) -> dict[str, Any]:
        """Return the settings of reading that were given."""
        from multitudes.tagger import parse_settings

        return parse_settings(self.read or [])


@dataclass(frozen=True)
class TolerantReading(Reading):
    """How data is read if its malformed lines may be skipped."""

    on_error: options.OnError = "raise"


@contextmanager
def local_path(path: Path) -> Iterator[Path]:
    """Yield the path itself; for ``-`` and for pipes, a temporary file with all that they hold.

    The shell's ``<(zcat data.gz)`` is a pipe, which can be read only once and only forwards.
    """
    if path != STANDARD and not _is_pipe(path):
        yield path
        return
    if path == STANDARD and sys.stdin.isatty():
        remark("reading from the terminal; end with Ctrl-D")
    name = "stdin" if path == STANDARD else str(path)
    with scratch_folder() as folder:
        copy = folder / "stdin"
        try:
            with copy.open("wb") as file, _source(path) as source:
                _copy(source, file, name)
        except OSError as error:
            raise DataError(f"cannot read {name}: {error.strerror or error}") from error
        try:
            yield copy
        except (DataError, ResourceError) as error:
            raise type(error)(str(error).replace(str(copy), name)) from error


def _is_pipe(path: Path) -> bool:
    """Return whether a path is neither a file nor a folder but can be read: a pipe, a device."""
    from multitudes.data.compression import reading

    with reading(path):
        return path.exists() and not (path.is_file() or path.is_dir())


@contextmanager
def _source(path: Path) -> Iterator[BinaryIO]:
    """Yield what a pipe or stdin holds; a device may never end."""
    from multitudes.data.compression import may_never_end, open_raw

    if path != STANDARD:
        with open_raw(path) as pipe:
            yield pipe
        return
    endless = False
    with suppress(OSError, ValueError):  # what stands for stdin in a program may have no number
        endless = may_never_end(sys.stdin.fileno())
    if endless:
        raise DataError("stdin is a device; expected data: give a file or a pipe")
    yield sys.stdin.buffer


def _copy(source: BinaryIO, file: BinaryIO, name: str) -> None:
    """Copy all of a stream, as long as there is room for it."""
    n_bytes = 0
    while data := source.read(_PIECE_BYTES):
        n_bytes += len(data)
        room = shutil.disk_usage(tempfile.gettempdir()).free
        if room < max(len(data), _ROOM_LEFT):
            raise DataError(
                f"{name} does not fit the disk of temporary files ({n_bytes:,} bytes so far, "
                f"{room:,} left): write it to a file, and give that, or set TMPDIR"
            )
        file.write(data)


@contextmanager
def _local_files(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the settings with pipes among the files that they name replaced by files."""
    with ExitStack() as stack:
        local = dict(settings)
        for name in FILE_SETTINGS & settings.keys():
            if isinstance(settings[name], str):
                local[name] = str(stack.enter_context(local_path(Path(settings[name]))))
        yield local


def refuse_overwriting(source: Path, target: Path) -> None:
    """Refuse a target that is read from, by whatever path: its data would be gone.

    For a folder of data, these are the folder itself and its files named after splits.
    """
    from multitudes.data.folders import is_split_file
    from multitudes.data.formats.npz import find_pair, is_npz_pair

    is_pair = not source.is_dir() and is_npz_pair(source)
    for read in find_pair(source, "trn") if is_pair else (source,):
        file, folder = (target, read) if read.is_dir() else (read, target)
        if not (target.exists() and (file.is_file() or file.is_dir())):
            continue  # nothing there, or a device
        is_part = file.resolve().parent == folder.resolve() and is_split_file(file)
        if is_part or read.samefile(target):
            raise ConfigError(
                f"{target} would be written over the data that is read from {source}: "
                "choose another place to write to"
            )


@contextmanager
def claimed(path: Path | None) -> Iterator[None]:
    """Refuse a second command that writes to the same file or folder, before any work."""
    from multitudes.data.compression import claimed as held

    with nullcontext() if path is None or path == STANDARD else held(path):
        yield


@contextmanager
def output(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that appears when it is whole, or stdout for ``-``."""
    from multitudes.data.compression import open_write

    if path == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if not path.parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")
    with open_write(path) as file:
        yield file


@contextmanager
def local_target(path: Path) -> Iterator[Path]:
    """Yield the path itself; for ``-``, a temporary file that is copied to stdout at the end."""
    if path != STANDARD:
        yield path
        return
    with scratch_folder() as folder:
        copy = folder / "stdout"
        yield copy
        with copy.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def remark(text: str) -> None:
    """Say something to the person, beside the output."""
    typer.secho(wrapped(text, terminal_width(sys.stderr)), err=True, dim=True)
