"""Write docs/licenses.md: the license of every package that this project installs.

::

    make install && .venv/bin/python -m supply.licenses
"""

from __future__ import annotations

import sys

from supply.packages import ROOT, Package, needed

PAGE = ROOT / "docs" / "licenses.md"
HEAD = """\
# Licenses

multitudes is under the [Apache License
2.0](https://github.com/multitudes-ml/multitudes/blob/main/LICENSE). What it installs, directly or
through others, has licenses of its own. This page is made by `python -m supply.licenses` from the
metadata of the packages on Linux with Python 3.11; other platforms bring a few others. A test
compares it with the lock, `supply/requirements.txt`, and refuses a license that it does not know.

Everything is permissive but for parts under the Mozilla Public License 2.0, which asks for changes
of these files themselves to be published, and of nothing else: orjson (core), tqdm and certifi
(extras), hypothesis, pathspec and axe-core, which axe-playwright-python carries (development).
"""
# Licenses that ask for no more than being named; the Mozilla one is explained in the page.
PERMISSIVE = frozenset({
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0",
    "Unlicense", "Zlib",
})  # fmt: skip


def parts(expression: str) -> set[str]:
    """The licenses that an SPDX expression names."""
    plain = expression.replace("(", "").replace(")", "").replace(" OR ", " AND ")
    return {part.strip() for part in plain.split(" AND ")}


def table(packages: list[Package]) -> str:
    """The packages of the library and its extras, and then those of development alone."""
    used = [one for one in packages if one.needed_by != ("dev",)]
    rest = [one for one in packages if one.needed_by == ("dev",)]
    return f"\n## Library and extras\n\n{rows(used)}\n## Development\n\n{rows(rest)}"


def rows(packages: list[Package]) -> str:
    """A table of Markdown."""
    lines = ["| package | license | comes with |", "|---|---|---|"]
    for one in packages:
        brought = [name for name in one.needed_by if name != "dev"] or ["dev"]
        brought = ["core"] if "core" in brought else [f"`{name}`" for name in brought]
        lines.append(f"| {one.name} | {one.license} | {', '.join(brought)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    packages = needed()
    PAGE.write_text(HEAD + table(packages), encoding="utf-8")
    sys.stdout.write(f"{PAGE}: {len(packages)} packages\n")


if __name__ == "__main__":
    main()
