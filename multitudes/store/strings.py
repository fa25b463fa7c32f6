"""Lists of strings on disk: one JSON string a line, so that a person can read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from multitudes.errors import StoreError
from multitudes.store.damage import damaged


def write_strings(path: Path, strings: Sequence[str]) -> None:
    """Write one JSON string a line; newlines inside a string are escaped by JSON."""
    import orjson  # here: models that hold no strings need it not

    with path.open("wb") as file:
        for number, string in enumerate(strings):
            if not isinstance(string, str):
                raise StoreError(
                    f"{path.stem}[{number}] must be a str, got {string!r}: "
                    "convert it before the model is saved"
                )
            try:
                file.write(orjson.dumps(string) + b"\n")
            except TypeError as error:  # half of a surrogate pair, which UTF-8 cannot hold
                raise StoreError(
                    f"{path.stem}[{number}] is not valid Unicode: {string!r}; "
                    "clean the text the model was fitted on"
                ) from error


def read_strings(path: Path, expected: int) -> list[str]:
    """Read a list of `expected` strings."""
    import orjson

    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        raise damaged(path, "its last line is cut off")
    try:
        # One parse of the whole list is several times as fast as one per line.
        strings = orjson.loads(b"[" + b",".join(content.split(b"\n")[:-1]) + b"]")
    except orjson.JSONDecodeError as error:
        raise damaged(path, "a line is not a JSON string") from error
    if len(strings) != expected or content.count(b"\n") != expected:
        raise damaged(path, f"it has {len(strings)} strings, the manifest says {expected}")
    if not all(type(string) is str for string in strings):
        raise damaged(path, "a line is not a JSON string")
    return list(strings)
