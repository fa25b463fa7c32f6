"""Keys that clients send, of which only hashes are stored.

A file has one on each line, ``sha256:`` and 64 digits, and behind it a name if one is wanted, which
logs then show. Keys are long and random, so that their hash needs no salt: nobody can guess
them, and no table holds them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from multitudes.errors import ConfigError

PREFIX = "sha256:"
SHORTEST = 16  # characters of a key
LONGEST = 1000
_LINE = re.compile(r"sha256:([0-9a-f]{64})(?:\s+(\S.*))?")


@dataclass(frozen=True, repr=False)
class Keys:
    """The hashes of keys, and the name of each.

    Parameters
    ----------
    known : tuple of (bytes, str)
    """

    known: tuple[tuple[bytes, str], ...]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file with a hash on each line; # begins a remark."""
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the keys in {path} cannot be read: {error}") from None
        found: list[tuple[bytes, str]] = []
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            match = _LINE.fullmatch(line.strip())
            if match is None:
                # Not the line itself: it may be a key.
                raise ConfigError(
                    f"{path}:{number}: expected {PREFIX}, 64 digits from 0 to f, and maybe a name: "
                    "`multitudes serve --hash-key` makes such a line"
                )
            found.append((bytes.fromhex(match[1]), match[2] or f"key {len(found) + 1}"))
        if not found:
            raise ConfigError(f"there is no key in {path}: `multitudes serve --hash-key` makes one")
        return cls(tuple(found))

    @classmethod
    def of(cls, given: Iterable[str]) -> Self:
        """Return keys, or hashes of keys, as the environment has them."""
        found: list[tuple[bytes, str]] = []
        for number, one in enumerate(given, 1):
            match = _LINE.fullmatch(one.strip())
            digest = (
                digest_of(checked_key(one.strip())) if match is None else bytes.fromhex(match[1])
            )
            found.append((digest, f"key {number}"))
        if not found:
            raise ConfigError("there is no key: give at least one")
        return cls(tuple(found))

    def name_of(self, given: bytes) -> str | None:
        """Return the name of a key; None if it is not known. How long it takes says nothing."""
        digest = hashlib.sha256(given[:LONGEST]).digest()
        found = None
        for known, name in self.known:
            if hmac.compare_digest(known, digest):
                found = name
        return found


def checked_key(key: str) -> str:
    """Refuse a key that could be guessed, or that a header cannot hold."""
    if not SHORTEST <= len(key) <= LONGEST or not key.isascii() or not key.isprintable():
        raise ConfigError(
            f"a key has {SHORTEST} to {LONGEST:,} characters, letters and digits of ASCII, got one "
            f"of {len(key):,}: `multitudes serve --hash-key` makes a good one"
        )
    return key


def digest_of(key: str) -> bytes:
    """Return the hash of a key."""
    return hashlib.sha256(key.encode()).digest()


def line_of(key: str) -> str:
    """Return the line of a file for a key."""
    return PREFIX + digest_of(checked_key(key)).hex()


def new_key() -> str:
    """Return a key that nobody can guess."""
    return secrets.token_urlsafe(32)
