"""The files around the code: workflow, hooks, templates, citation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from multitudes import __version__

ROOT = Path(__file__).resolve().parents[1]


def parsed(name: str):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_workflow_runs_what_a_change_must_pass_everywhere():
    job = parsed(".github/workflows/ci.yml")["jobs"]["checks"]
    matrix = job["strategy"]["matrix"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert [step["run"] for step in job["steps"] if "run" in step][-1] == ".ci/run"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = {line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line}
    assert set(matrix["python"]) == stated == {"3.11", "3.12", "3.13", "3.14"}


def test_hooks_are_the_checks_of_make_lint():
    (repo,) = parsed(".pre-commit-config.yaml")["repos"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tools = {hook["entry"].split()[0] for hook in repo["hooks"]}
    assert tools == {"ruff", "mypy", "lint-imports"}
    assert all(f"$(BIN)/{tool}" in makefile for tool in tools)


def test_templates_are_forms():
    for name in ("bug", "feature"):
        form = parsed(f".github/ISSUE_TEMPLATE/{name}.yml")
        assert form["name"]
        assert all(field["attributes"]["label"] for field in form["body"])


def test_the_citation_has_the_version_and_the_four_papers():
    citation = parsed("CITATION.cff")
    assert citation["version"] == __version__
    assert sorted(paper["year"] for paper in citation["references"]) == [2020, 2021, 2022, 2025]
    assert all(paper["authors"] and paper["title"] for paper in citation["references"])


def test_the_map_of_the_code_names_files_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("### Where is ...?")[2].partition("\n## ")[0]
    named = re.findall(r"`(multitudes/[\w/.]+)`", table)
    assert len(re.findall(r"^\| Where ", table, flags=re.MULTILINE)) >= 10
    assert [name for name in named if not (ROOT / name).exists()] == []
