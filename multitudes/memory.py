"""How much memory may be taken, asked before it is taken.

Files and arguments declare sizes: rows of a matrix, the dimension of vectors, how many labels an
instance gets. What has a declared size is held against the limit before anything is allocated, so
that a wrong number is an error with that number in it and not the end of the process.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from multitudes.errors import ConfigError, ResourceError

__all__ = ["ask", "chosen", "limit", "limited", "parse_size"]

VARIABLE = "MULTITUDES_MAX_MEMORY"
SHARE = 0.8  # of what is free: the rest is for what nobody asks for
SMALL = 1_000_000  # bytes that are worth no look at the system
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_SIZE = re.compile(r"(\d+|\d*\.\d+|\d+\.\d*)\s*([KMGTP]?)(I?)B?", re.ASCII)
_LONGEST = 32  # characters of a size
_MACHINE = Path("/proc/meminfo")
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")
# Files of a control group, (limit, use), in its second version and its first.
_CGROUP_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)

_chosen: list[int] = []
"""The limits that are set, the last one in force; of the process, since its threads share it."""


def parse_size(size: int | str) -> int:
    """Return the bytes of a size such as "8GB", "512MB", "1.5 GiB" or 1000000.

    Parameters
    ----------
    size : int or str
        KB, MB, GB and TB are powers of 1,000; KiB, MiB, GiB and TiB powers of 1,024.

    Returns
    -------
    int

    Raises
    ------
    ConfigError
        If it is not a size, or not positive.

    Examples
    --------
    >>> parse_size("512MB")
    512000000
    """
    if isinstance(size, int) and not isinstance(size, bool):
        n_bytes = size
    else:
        text = size.strip().upper() if isinstance(size, str) else ""
        found = _SIZE.fullmatch(text) if len(text) <= _LONGEST else None
        if found is None:
            raise ConfigError(
                f"memory_limit must be a size such as '8GB', '512MB' or a number of bytes, "
                f"got {str(size)[:_LONGEST]!r}"
            )
        number, unit, binary = found.groups()
        exponent = "KMGTP".find(unit) + 1 if unit else 0
        n_bytes = int(float(number) * (1024**exponent if binary else _UNITS[unit]))
    if n_bytes < 1:
        raise ConfigError(f"memory_limit must be at least 1 byte, got {size!r}")
    return n_bytes


def shown(n_bytes: int) -> str:
    """Return bytes in the unit that suits them, e.g. "7.5 GB"."""
    for unit in ("bytes", "KB", "MB", "GB", "TB", "PB"):
        factor = _UNITS[unit[0] if unit != "bytes" else ""]
        if n_bytes < 999.95 * factor:
            return f"{n_bytes} bytes" if unit == "bytes" else f"{n_bytes / factor:.1f} {unit}"
    return f"over {n_bytes // 10**15:,} PB" if n_bytes < 10**24 else "over a billion PB"


@contextmanager
def limited(size: int | str | None) -> Iterator[None]:
    """Limit the memory of this process while a block runs.

    Parameters
    ----------
    size : int, str or None
        What the process may hold in all, e.g. "8GB"; None changes nothing.

    Examples
    --------
    >>> with limited("8GB"):
    ...     ask(1_000_000, "a small table")
    """
    if size is None:
        yield
        return
    _chosen.append(parse_size(size))
    try:
        yield
    finally:
        _chosen.pop()


def limit() -> int:
    """Return the bytes that may be taken now.

    That is 80 % of what the machine and the control group of the process have free. Under a limit
    of `limited` or of the environment's ``MULTITUDES_MAX_MEMORY``, it is what the process, with
    what it holds already, still has left of it.

    Returns
    -------
    int
    """
    most = chosen()
    if most is not None:
        return max(0, most - _held())
    free = [_free_on_machine(), *_free_in_groups(), _free_addresses()]
    known = [n_bytes for n_bytes in free if n_bytes is not None]
    return int(SHARE * max(0, min(known))) if known else sys.maxsize


def ask(n_bytes: int, what: str, *, advice: str | None = None) -> None:
    """Raise a ResourceError if more memory is about to be taken than there is.

    Parameters
    ----------
    n_bytes : int
        What is needed beyond what is held already.
    what : str
        What needs it, with the number that says so and the file, if there is one, e.g.
        "x.npz: a matrix of 3,000,000,000 rows".
    advice : str, optional
        What to do about it, besides raising the limit.

    Raises
    ------
    ResourceError
    """
    if n_bytes <= SMALL:
        return
    allowed = limit()
    if n_bytes <= allowed:
        return
    enough = f"{-(-n_bytes * 5 // 4 // 10**9)}GB" if n_bytes < 10**15 else None
    raising = (
        "" if enough is None else f", or raise the limit: multitudes.memory.limited({enough!r})"
    )
    raise ResourceError(
        f"{what} needs {shown(n_bytes)} of memory, and {shown(allowed)} may be taken "
        f"({_reason()}): {advice or 'free memory'}{raising}"
    )


def chosen() -> int | None:
    """Return the limit that a program, a command line or the environment sets; None without."""
    if _chosen:
        return _chosen[-1]
    given = os.environ.get(VARIABLE, "")
    if not given:
        return None
    try:
        return parse_size(given)
    except ConfigError as error:
        raise ConfigError(str(error).replace("memory_limit", VARIABLE)) from None


def _reason() -> str:
    most = chosen()
    if most is None:
        return f"{SHARE:.0%} of what is free"
    return f"the limit is {shown(most)}, of which {shown(_held())} are in use"


def _held() -> int:
    """Return the bytes that this process holds, without files that it only maps."""
    import psutil

    info = psutil.Process().memory_info()
    return int(info.rss - getattr(info, "shared", 0))


def _free_on_machine() -> int | None:
    with suppress(OSError, ValueError):  # Linux says it in less time than psutil is imported
        for line in _MACHINE.read_text(encoding="ascii").splitlines():
            name, _, kilobytes = line.removesuffix(" kB").partition(":")
            if name == "MemAvailable":
                return 1024 * int(kilobytes)
    import psutil

    try:
        return int(psutil.virtual_memory().available)
    except (OSError, RuntimeError, psutil.Error):  # a sandbox without /proc
        return None


def _free_in_groups() -> Iterator[int]:
    """Yield what is free in the control groups around this process, as containers have them."""
    try:
        lines = _OWN_CGROUPS.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # not Linux
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = _CGROUPS / "memory" if controllers else _CGROUPS
        inner = root / group.lstrip("/")
        for folder in (inner, *inner.parents):
            if not folder.is_relative_to(root):
                break
            for files in _CGROUP_FILES:
                with suppress(OSError, ValueError):  # "max" is no limit
                    most, used = (int((folder / name).read_text()) for name in files)
                    yield most - used + _cached(folder)


def _cached(folder: Path) -> int:
    """Return the bytes of files that a control group keeps and would give up."""
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text().splitlines():
            name, _, n_bytes = line.partition(" ")
            if name in ("inactive_file", "total_inactive_file"):
                return int(n_bytes)
    return 0


def _free_addresses() -> int | None:
    """Return what ``ulimit -v`` leaves; None without such a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return None
    import psutil

    return most - int(psutil.Process().memory_info().vms)
