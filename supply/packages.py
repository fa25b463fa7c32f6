"""The packages that this project needs, directly or through others, as installed here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# What metadata says in other words, or only in a file: SPDX identifiers.
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache Software License 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache-2": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD-2-Clause License": "BSD-2-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "ISC License": "ISC",
    "Dual License": "Apache-2.0 OR BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "new BSD License": "BSD-3-Clause",
    "UNKNOWN": "",
}


@dataclass(frozen=True)
class Package:
    """One installed distribution.

    Parameters
    ----------
    name : str
        In its canonical form, e.g. ``scikit-learn``.
    version : str
    license : str
        An SPDX expression, or what its metadata says.
    needed_by : tuple of str
        ``core`` and names of extras, ``dev`` among them: all that bring it along.
    """

    name: str
    version: str
    license: str
    needed_by: tuple[str, ...]


def declared() -> dict[str, list[Requirement]]:
    """The requirements of pyproject.toml: core, and each extra."""
    project = PROJECT["project"]
    groups = {"core": project["dependencies"], **project["optional-dependencies"]}
    return {name: [Requirement(line) for line in lines] for name, lines in groups.items()}


def needed(groups: Iterable[str] | None = None) -> list[Package]:
    """All packages that some groups need, by name; a missing one is an error."""
    wanted = declared()
    brought: dict[str, set[str]] = {}
    for group in wanted if groups is None else groups:
        for name in _closure(wanted[group]):
            brought.setdefault(name, set()).add(group)
    order = list(wanted)
    return [
        Package(name, distribution(name).version, license_of(distribution(name)),
                tuple(sorted(brought[name], key=order.index)))
        for name in sorted(brought)
    ]  # fmt: skip


def _closure(requirements: list[Requirement]) -> set[str]:
    """Names of packages that fulfil requirements here, and of those that these need."""
    found: set[tuple[str, str]] = set()
    waiting = [(one, "") for one in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for asked in ("", *requirement.extras):
            if (name, asked) in found:
                continue
            found.add((name, asked))
            waiting += [(Requirement(line), asked) for line in _installed(name).requires or []]
    return {name for name, _ in found}


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError as error:
        raise SystemExit(f"{name} is not installed: run  make install") from error


def license_of(package: Distribution) -> str:
    """The license of a package as an SPDX expression, where its metadata tells."""
    about = package.metadata
    if about["License-Expression"]:
        return str(about["License-Expression"])
    stated = (about["License"] or "").strip()
    if stated and "\n" not in stated and len(stated) < 60 and SPDX.get(stated, stated):
        return SPDX.get(stated, stated)
    names = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if names:
        return " AND ".join(sorted({SPDX.get(name, name) for name in names}))
    return _from_text(package) or "not stated"


def _from_text(package: Distribution) -> str:
    """The license whose text a package has with it."""
    text = package.metadata["License"] or ""
    for file in package.files or []:
        if re.search(r"licen[cs]e|copying", file.name, re.I) and file.locate().is_file():
            text += Path(str(file.locate())).read_text(encoding="utf-8", errors="replace")[:3000]
    said = " ".join(text.split())
    for words, name in (
        ("Apache License Version 2.0", "Apache-2.0"),
        ("Permission is hereby granted, free of charge", "MIT"),
        ("Redistribution and use in source and binary forms", "BSD-3-Clause"),
        ("Mozilla Public License Version 2.0", "MPL-2.0"),
    ):
        if words in said:
            return name
    return ""
