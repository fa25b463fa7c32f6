"""Every code block of the pages runs, from top to bottom of its page, in one folder."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from multitudes.data import read_dataset
from tests.docs.blocks import (
    REAL,
    RUN,
    SHELL,
    SHOWN,
    Block,
    blocks_of,
    commands,
    fences,
    sessions,
)
from tests.docs.conftest import write_packages
from tests.docs.shell import Shell, check_options, check_packages
from tests.docs.site import DOCS, PAGES, ROOT, page_name

README = ROOT / "README.md"
ALL = [README, *PAGES]
MAX_COLUMNS = 100  # what fits at 1280 pixels: docs/style/pages.css

# Blocks that are not run, by page: none may be skipped unnoticed.
SKIPPED = {
    "auto": 1,
    "campaigns": 3,
    "dependencies": 1,
    "deploying": 2,
    "coming-from/annif": 1,
    "coming-from/sentence-transformers": 1,
    "encoders": 1,
    "howto/scale-out": 1,
    "prime": 1,
    "scale": 2,
    "server": 1,
    "training": 3,
    "trees": 1,
    "tuning": 1,
}


def name_of(page: Path) -> str:
    return "README" if page == README else page_name(page)


PAGES_THAT_RUN = [page for page in ALL if any(block.is_run for block in blocks_of(page))]


@pytest.fixture
def run_page(tmp_path, monkeypatch, capfd, shop, givens):
    """Run all blocks of a page, in a folder with the shop's files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for file in shop.glob("*.*"):
        shutil.copy(file, tmp_path)
    return lambda page, real=False: run_blocks(page, Shell(capfd.readouterr), shop, givens, real)


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=name_of)
def test_the_blocks_of_a_page_run(page, run_page):
    run_page(page)


@pytest.mark.real
def test_the_tutorial_runs_on_real_data(run_page, shared_data):
    """As it is printed, but for what other versions of Debian say."""
    folder = shared_data("debian-debtags")
    write_packages(read_dataset(folder)[:6_000], Path("Packages.xz"))
    run_page(DOCS / "tutorial.md", real=True)


def run_blocks(page: Path, shell: Shell, shop: Path, givens: dict, real: bool) -> None:
    for block in blocks_of(page):
        if block.title is not None:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.code, encoding="utf-8")
    names = dict(givens)
    for block in blocks_of(page):
        for name in block.needs:
            copied = shop / "models" / name
            if copied.is_dir() and not Path(name).exists():
                shutil.copytree(copied, name)
            elif copied.is_file():
                shutil.copy(copied, name)
        if block.is_run:
            run(block, shell, names, page, shown=real or block.directive != REAL)


def run(
    block: Block, shell: Shell, names: dict[str, object], page: Path, *, shown: bool = True
) -> None:
    try:
        if block.language == "python":
            exec(compiled(block, page), names)
        elif block.language in SHELL:
            for command in commands(block.code):
                shell.run(command)
        else:
            for command, output in sessions(block.code):
                printed = shell.run(command)
                if shown:
                    assert_shown(printed, output)
    except (Exception, SystemExit) as error:
        error.add_note(f"in the block at line {block.line} of {name_of(page)}:\n{block.code}")
        raise


def compiled(block: Block, page: Path):
    tree = ast.parse(block.code)
    ast.increment_lineno(tree, block.line)
    return compile(tree, str(page), "exec")


def assert_shown(printed: str, shown: str) -> None:
    """What a page shows is printed, word for word; numbers, order and line ends may differ."""
    missing = words_of(shown) - words_of(printed)
    assert not missing, f"{sorted(missing)} are not printed here:\n{printed}"


def words_of(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W\d_]{2,}", text))


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_blocks_are_found_and_of_known_languages(page):
    assert len(blocks_of(page)) == fences(page)
    for block in blocks_of(page):
        assert block.language in (*RUN, *SHOWN), f"line {block.line}"
        known = block.directive in (None, REAL) or block.needs or block.is_skipped
        assert known, f"line {block.line}: what does {block.directive!r} mean?"
        if block.language == "json":
            assert_json(block.code)
        elif block.language == "toml":
            tomllib.loads(block.code)


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_extras_in_running_text_exist(page):
    check_packages(re.findall(r"multitudes\[[\w,]+\]", page.read_text("utf-8")))


INDENTED = re.compile(r"\n\n {4}(multitudes |pip |from |import |\$ )")


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_code_stands_in_fences(page):
    """What is only indented would not be run."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert INDENTED.findall(text) == []


def assert_json(code: str) -> None:
    """One document, or JSON lines."""
    try:
        json.loads(code)
    except json.JSONDecodeError:
        for line in code.strip().splitlines():
            json.loads(line)


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_blocks_fit(page):
    for block in blocks_of(page):
        long = [line for line in block.code.splitlines() if len(line) > MAX_COLUMNS]
        assert long == [], f"line {block.line}"


def test_what_is_not_run_is_known_and_would_parse():
    found = {}
    for page in ALL:
        skipped = [block for block in blocks_of(page) if block.is_skipped]
        if skipped:
            found[name_of(page)] = len(skipped)
        for block in skipped:
            if block.language == "python":
                compiled(block, page)
            elif block.language in SHELL:
                for command in commands(block.code):
                    words = shlex.split(command, comments=True)
                    if words[:1] == ["multitudes"]:
                        check_options(words[1:])
    assert found == SKIPPED


INLINE = re.compile(r"`multitudes ([a-z]+ [^`]*)`")


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_commands_in_running_text_have_options_that_exist(page):
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for command in INLINE.findall(" ".join(text.split())):
        if "..." not in command and "<(" not in command:
            check_options(shlex.split(command))


def test_a_block_that_fails_is_noticed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shell = Shell(capfd.readouterr)
    with pytest.raises(AssertionError, match="No such option|--no-such-option"):
        run(Block("sh", "multitudes train a.jsonl --no-such-option\n", 1), shell, {}, README)
    with pytest.raises(NameError):
        run(Block("python", "nothing\n", 1), shell, {}, README)
    with pytest.raises(AssertionError, match="extra"):
        run(Block("sh", "pip install 'multitudes[nothing]'\n", 1), shell, {}, README)
    with pytest.raises(AssertionError, match="not printed"):
        run(Block("console", "$ multitudes version\nsomething else\n", 1), shell, {}, README)
