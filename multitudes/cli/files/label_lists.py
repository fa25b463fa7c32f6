"""Labels that a user lists: a file with a name on each line, or names with commas between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from multitudes.cli.files.streams import remark
from multitudes.errors import ConfigError, DataError


def listed_labels(given: str, known: Sequence[str], *, option: str, quiet: bool) -> list[str]:
    """Return the labels of `known` that are listed.

    In a file, names that are not known are counted in a remark, because lists of labels outlive
    models; typed on the command line, they are errors that name the nearest.

    Parameters
    ----------
    given : str
        A file with one name on each line, or names with commas between. A name that holds commas
        may be given alone, or in a file.
    known : sequence of str
        The labels of the model.
    option : str
        The option it was given to, for messages.
    quiet : bool
        No remarks.
    """
    from multitudes.tagger.inputs import label_id

    index = set(known)
    path = Path(given)
    if given in index and not path.is_file():
        return [given]
    if not path.is_file():
        names = [name.strip() for name in given.split(",") if name.strip()]
        _check_is_list(given, names, index, option)
        for name in names:
            if name not in index:
                label_id(name, known)  # raises, and names the nearest
        return list(dict.fromkeys(names))
    names = list(dict.fromkeys(lines_of(path)))
    found = [name for name in names if name in index]
    missing = [name for name in names if name not in index]
    if not found:
        first = f", the first is {names[0]!r}" if names else ""
        raise DataError(
            f"none of the {len(names):,} labels in {path} is a label of the model{first}: it needs "
            "one name on each line, as multitudes inspect MODEL --labels prints them"
        )
    if missing and not quiet:
        remark(
            f"{path}: {len(missing):,} of {len(names):,} labels are not labels of the model, e.g. "
            f"{missing[0]!r}: left out"
        )
    return found


def _check_is_list(given: str, names: Sequence[str], index: set[str], option: str) -> None:
    """Say that a file is missing if what was given looks like one."""
    looks_like_file = len(names) == 1 and ("/" in given or Path(given).suffix)
    if not names or (looks_like_file and given not in index):
        raise ConfigError(
            f"{option} takes a file with a label on each line, or labels with commas between, got "
            f"{given!r}: there is no such file, and no such label"
        )


def lines_of(path: Path) -> list[str]:
    """Return the lines that are not blank, of a file that may be compressed."""
    from multitudes.data import open_bytes
    from multitudes.data.compression import read_whole

    with open_bytes(path) as stream:
        try:
            text = read_whole(stream, path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not UTF-8 ({error}): save it as UTF-8") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
