"""What is public: names in `__all__` of the package and its first-level packages, and no others."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import griffe
import pytest

import multitudes

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = (
    "client", "config", "data", "deep", "disentangle", "encoder", "engine", "errors", "estimator",
    "features", "fusion", "groups", "interchange", "labels", "lexical", "linear", "memory",
    "metrics", "models", "scores", "seq2set", "server", "shards", "store", "tagger", "tuning",
    "types", "validation",
)  # fmt: skip
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def test_the_three_lists_of_the_front_door_agree():
    tree = ast.parse(Path(multitudes.__file__).read_text(encoding="utf-8"))
    (typed,) = (n for n in tree.body if isinstance(n, ast.If) and isinstance(n.test, ast.Name))
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.asname: node.module for node in imports for alias in node.names}
    assert homes == multitudes._HOMES
    assert {*homes, "__version__"} == set(multitudes.__all__)
    assert set(dir(multitudes)) == set(multitudes.__all__)


def test_the_front_door_shows_what_first_level_packages_export():
    for name, home in multitudes._HOMES.items():
        assert re.fullmatch(r"multitudes\.\w+", home), name
        assert name in importlib.import_module(home).__all__


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_there_and_documented(package):
    module = importlib.import_module(f"multitudes.{package}")
    assert module.__all__
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value):
            assert value.__doc__, name


def test_every_package_is_public_or_known_to_be_private():
    folders = {p.parent.name for p in (ROOT / "multitudes").glob("*/__init__.py")}
    assert folders - set(PUBLIC) == PRIVATE
    assert all((ROOT / "multitudes" / f"{name}.py").is_file() for name in set(PUBLIC) - folders)


PRIVATE = {"cli", "files", "kernels"}


def test_import_linter_refuses_a_folder_without_a_layer():
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    (layers,) = (one for one in rules["importlinter"]["contracts"] if one["type"] == "layers")
    assert layers["exhaustive"]
    assert layers["containers"] == ["multitudes"]
    assert not {*PUBLIC, *PRIVATE} & set(layers["exhaustive_ignores"])


@pytest.mark.parametrize("package", PUBLIC)
def test_an_unknown_name_is_an_attribute_error(package):
    module = importlib.import_module(f"multitudes.{package}")
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        module.Nothing  # noqa: B018


def imported(page: Path) -> list[tuple[str, str]]:
    """(module, name) of each import of ours in the code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    blocks += re.findall(r"(?:^ {4}.*\n)+", text, flags=re.MULTILINE)
    found = re.findall(
        r"^\s*from (multitudes[\w.]*) import (.+)$", "\n".join(blocks), flags=re.MULTILINE
    )
    assert "import multitudes." not in text, "import names, not modules"
    return [(module, name.strip()) for module, names in found for name in names.split(",")]


def test_pages_import_public_names_only():
    found = {(page.name, *pair) for page in PAGES for pair in imported(page)}
    assert len(found) > 30
    for page, module, name in sorted(found):
        assert module.count(".") <= 1, f"{page} imports {name} from {module}"
        name = name.partition(" as ")[0]
        assert name in importlib.import_module(module).__all__, f"{page}: {module}.{name}"


def test_pages_name_no_deeper_module():
    """In running text neither; ``multitudes.data.Dataset`` is a name, not a module."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for package, name in re.findall(r"`multitudes\.([a-z_]\w*)\.(\w+)", text):
            assert name in importlib.import_module(f"multitudes.{package}").__all__, page


@pytest.fixture(scope="module")
def documented() -> griffe.Module:
    """The package as mkdocstrings reads it."""
    module = griffe.load("multitudes", search_paths=[str(ROOT)])
    assert isinstance(module, griffe.Module)
    return module


@pytest.mark.parametrize("package", PUBLIC)
def test_the_reference_has_every_public_name(package, documented):
    page = (ROOT / "docs" / "reference" / f"{package}.md").read_text(encoding="utf-8")
    assert f"::: multitudes.{package}\n" in page
    members = documented[package].members
    missing = [
        name
        for name in importlib.import_module(f"multitudes.{package}").__all__
        if name not in members or not members[name].has_docstring
    ]
    assert missing == [], "a name without a docstring is left out of the reference"


def test_the_reference_has_the_front_door():
    page = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    linked = re.findall(r"\[`(\w+)`\](?:\[([\w.]+)\]|\((\w+)\.md\))", page)
    homes = {
        name: target.rpartition(".")[0] or f"multitudes.{file}" for name, target, file in linked
    }
    assert homes == multitudes._HOMES
    assert "multitudes.__version__" in page


def test_the_reference_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.stem for path in (ROOT / "docs" / "reference").glob("*.md")}
    assert pages == {*PUBLIC, "index"}
    assert [name for name in pages if f"reference/{name}.md" not in navigation] == []
