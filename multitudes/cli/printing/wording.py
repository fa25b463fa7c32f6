"""Say in flags what the library says in Python: ``on_error='skip'`` becomes ``--on-error skip``.

Messages of the library name settings as Python has them. A verb knows which of them are options
of its own, and which go through ``--read`` and ``--write``.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

READ, WRITE = "--read", "--write"
# Options whose name differs from that of the setting.
_RENAMED = {"groups": "group_labels", "threads": "n_jobs"}
_PLACEHOLDERS = {"column": "NAME", "labels": "FILE", "groups": "FILE", "vocabulary": "FILE"}
_LIMIT = re.compile(r"multitudes\.memory\.limited\('(\w+)'\)")
_VALUE = r"""=(?P<value>'[^']*'|"[^"]*"|[\w.+-]+)"""


def in_flags(message: str, verb: Callable[..., Any] | None = None) -> str:
    """Return a message of the library in the words of the command line.

    Parameters
    ----------
    message : str
    verb : callable, optional
        The function of the verb, whose parameters are its options; by default one that reads data.
    """
    flags = _reading_flags() if verb is None else _flags_of(verb)
    if "memory_limit" in flags:
        message = _LIMIT.sub(r"--memory \1", message)
    if WRITE in flags.values() and ("cannot write" in message or "not written" in message):
        flags |= {**_through(WRITE), "format": flags.get("to", "--format")}
    owners = {"ReadOptions": READ, "WriteOptions": WRITE}
    for owner, flag in owners.items():
        if flag in flags.values():
            message = re.sub(rf"\b{owner}(\.(?=\w)| (?=has no setting))", f"{flag} ", message)
    if not flags:
        return message
    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    pattern = re.compile(rf"""(?<![\w./'"(-])(?P<name>{names})(?:{_VALUE})?(?![\w=]|[./]\w)""")
    return pattern.sub(lambda found: _worded(found, flags), message)


def _worded(found: re.Match[str], flags: Mapping[str, str]) -> str:
    name, value = found["name"], found["value"]
    flag = flags[name]
    before = found.string[: found.start()]
    if value is None and ("_" not in name or before.endswith((f"{READ} ", f"{WRITE} "))):
        return found[0]  # an English word, or told already
    if value is not None and value[0] in "'\"":
        value = value[1:-1]
    if flag in (READ, WRITE):
        return f"{flag} {shlex.quote(f'{name}={_placeholder(name) if value is None else value}')}"
    if value is None:
        return f"{flag} FILE" if flag == "--groups" else flag
    return flag if value == "True" else f"{flag} {shlex.quote(value)}"


def _placeholder(name: str) -> str:
    if name.startswith(("n_", "max_")):
        return "N"
    return _PLACEHOLDERS.get(name.rpartition("_")[2], "VALUE")


def _flags_of(verb: Callable[..., Any]) -> dict[str, str]:
    """Return the flag of each setting that a verb takes, by the setting's name in Python."""
    own: dict[str, str] = {}
    for name, parameter in inspect.signature(verb).parameters.items():
        flag = _flag_of(parameter.annotation)
        if flag is not None:
            own[_RENAMED.get(name, name)] = flag
    through: dict[str, str] = {}
    for flag in (WRITE, READ):
        if flag in own.values():
            through |= _through(flag)
    return {**through, **own}


def _flag_of(annotation: Any) -> str | None:
    if get_origin(annotation) is not Annotated:
        return None
    for info in get_args(annotation)[1:]:
        # In an annotation, typer keeps the first of the names where it keeps defaults elsewhere.
        given = (getattr(info, "default", None), *(getattr(info, "param_decls", None) or ()))
        names = [name for name in given if isinstance(name, str) and name.startswith("--")]
        if names:
            return str(names[0])
    return None


def _reading_flags() -> dict[str, str]:
    return {**_through(READ), "on_error": "--on-error", "format": "--format"}


def _through(flag: str) -> dict[str, str]:
    from multitudes.data.options import ReadOptions, WriteOptions

    options = ReadOptions if flag == READ else WriteOptions
    return {field.name: flag for field in dataclasses.fields(options)}
