"""Files of the user: reading with options by name, ``-`` for stdin and stdout."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from multitudes.cli import options
from multitudes.cli.wrapping import terminal_width, wrapped
from multitudes.errors import ConfigError, DataError

if TYPE_CHECKING:
    from multitudes.data import Dataset, LabelSpace

STANDARD = Path("-")


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
    ) -> Dataset:
        """Read a file, a folder (its part `split`) or stdin; say what was left out."""
        from multitudes import data

        settings: dict[str, Any] = {"split": split, "on_error": self.on_error, **self.settings()}
        if group_labels is not None:
            settings["group_labels"] = str(group_labels)
        chosen = data.ReadOptions.from_dict(settings)
        with local_path(path) as file:
            dataset = data.read_dataset(file, format=self.format, labels=labels, options=chosen)
        if dataset.report and not self.quiet:
            remark(f"{path}: {dataset.report}")
        return dataset

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
    """Yield the path itself; for ``-``, a temporary file with all of stdin."""
    if path != STANDARD:
        yield path
        return
    if sys.stdin.isatty():
        remark("reading from the terminal; end with Ctrl-D")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "stdin"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield copy
        except DataError as error:
            raise DataError(str(error).replace(str(copy), "stdin")) from error


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
