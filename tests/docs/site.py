"""Pages as the site shows them: the configured extensions of Markdown, and the formulas' hook."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path

import markdown
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def page_name(page: Path) -> str:
    return page.relative_to(DOCS).with_suffix("").as_posix()


@cache
def configured():
    return load_config(str(ROOT / "mkdocs.yml"))


@cache
def rendered(page: Path) -> str:
    """The HTML of a page, without the theme around it and without the reference's docstrings."""
    config = configured()
    converter = markdown.Markdown(
        extensions=config["markdown_extensions"], extension_configs=config["mdx_configs"]
    )
    text = page.read_text(encoding="utf-8")
    if text.startswith("---\n"):  # settings of the page itself
        text = text.partition("\n---\n")[2]
    content = converter.convert(text)
    for hook in config["hooks"]:
        content = _hook(ROOT / hook).on_page_content(content)
    return content


def _hook(path: Path):
    spec = importlib.util.spec_from_file_location(f"docs_hook_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_code(content: str) -> str:
    return re.sub(r"<(pre|code)\b.*?</\1>", "", content, flags=re.DOTALL)
