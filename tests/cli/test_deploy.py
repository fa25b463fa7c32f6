"""What is in `deploy/` runs commands that exist, and systemd takes the unit as it is."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from multitudes.server import Limits, make_app
from tests.docs.shell import check_options
from tests.server.crafts import crafts_tagger

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy" / "multitudes.service"
CONTAINER = ROOT / "deploy" / "Containerfile"
PAGE = ROOT / "docs" / "deploying.md"
SPECIFIERS = {"%d": "/run/credentials/multitudes", "%S": "/var/lib", "%C": "/var/cache"}
MAX_EXPOSURE = 2.0  # of 10, as systemd counts it

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def joined(text: str) -> str:
    """A text whose lines are whole: a backslash at the end of one continues it."""
    return re.sub(r"\\\n\s*", "", text)


def unit() -> configparser.SectionProxy:
    """The settings of the service; the last of those with the same name."""
    found = configparser.ConfigParser(strict=False, interpolation=None, delimiters="=")
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read_string(joined(UNIT.read_text()))
    return found["Service"]


def served(command: str) -> list[str]:
    """What follows the name of the program, with all that systemd fills in."""
    for specifier, value in SPECIFIERS.items():
        command = command.replace(specifier, value)
    program, *arguments = shlex.split(command)
    assert Path(program).name == "multitudes"
    assert "%" not in command
    return arguments


def instructions() -> dict[str, str]:
    """The container file's, by name; the last of each."""
    lines = joined(CONTAINER.read_text()).splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def test_the_unit_serves_with_options_that_exist():
    check_options(served(unit()["ExecStart"]))


def test_the_unit_waits_until_everything_is_answered():
    assert int(unit()["TimeoutStopSec"]) > 2 * Limits().grace_seconds


def test_the_page_serves_with_options_that_exist():
    commands = re.findall(r"^ExecStart=(/.*)$", joined(PAGE.read_text()), flags=re.MULTILINE)
    assert len(commands) == 1
    check_options(served(commands[0]))


def test_the_container_serves_with_options_that_exist():
    found = instructions()
    program, *arguments = json.loads(found["ENTRYPOINT"]) + json.loads(found["CMD"])
    assert program == "multitudes"
    check_options(arguments)
    run = re.search(r"multitudes (/model .*)$", joined(PAGE.read_text()), flags=re.MULTILINE)
    check_options([*json.loads(found["ENTRYPOINT"])[1:], *shlex.split(run[1])])


def test_the_container_looks_at_an_address_that_exists():
    arguments = json.loads(instructions()["HEALTHCHECK"].partition("CMD ")[2])
    assert arguments[:2] == ["python", "-c"]
    ast.parse(arguments[2])
    path = re.search(r"http://127\.0\.0\.1:8000(/\w+)", arguments[2])[1]
    assert TestClient(make_app(crafts_tagger())).get(path).status_code == 200


def test_the_container_installs_extras_that_exist():
    extras = re.search(r"\[([\w,]+)\]\"", CONTAINER.read_text())[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras) <= project["optional-dependencies"].keys()
    assert "serve" in extras


@needs_systemd
def test_systemd_takes_the_unit(tmp_path):
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(unit()["ExecStart"].split()[0], shutil.which("true")))
    verified = subprocess.run(
        ["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", copy],
        capture_output=True,
        text=True,
        check=False,
    )
    exposure = float(re.search(r"exposure level for \S+: ([\d.]+)", rated.stdout)[1])
    assert exposure <= MAX_EXPOSURE
    assert f"{exposure} of 10" in PAGE.read_text()
