"""Files of the user: reading with options by name, ``-`` for stdin and stdout, pipes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from multitudes.cli import options
from multitudes.cli.printing.wording import in_flags
from multitudes.cli.printing.wrapping import terminal_width, wrapped
from multitudes.errors import ConfigError, DataError

if TYPE_CHECKING:
    from multitudes.data import Dataset, LabelSpace, ReadReport

STANDARD = Path("-")
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
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as file:
            if path == STANDARD:
                shutil.copyfileobj(sys.stdin.buffer, file)
            else:
                with path.open("rb") as pipe:
                    shutil.copyfileobj(pipe, file)
        try:
            yield copy
        except DataError as error:
            name = "stdin" if path == STANDARD else str(path)
            raise DataError(str(error).replace(str(copy), name)) from error


def _is_pipe(path: Path) -> bool:
    """Return whether a path is neither a file nor a folder but can be read: a pipe, a device."""
    return path.exists() and not (path.is_file() or path.is_dir())


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
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "stdout"
        yield copy
        with copy.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def remark(text: str) -> None:
    """Say something to the person, beside the output."""
    typer.secho(wrapped(text, terminal_width(sys.stderr)), err=True, dim=True)
