"""A shell for the pages: `multitudes` runs in this process, the rest as cheaply as it can."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import typer.main

from multitudes import Tagger
from multitudes.cli import main
from multitudes.cli.app import app
from multitudes.models import model_spec

ROOT = Path(__file__).resolve().parents[2]
# What makes a network small enough for a test; what a page sets itself goes first.
TINY_ENCODER = (
    "backbone.name=scratch", "backbone.scratch_dim=32", "training.epochs=1",
    "sampler.batch_size=256",
)  # fmt: skip
TINY_GENERATOR = (
    "words.dim=8", "network.hidden=8", "network.layers=1", "training.epochs=1",
)  # fmt: skip


class Shell:
    """Runs the commands of one page, in the current folder."""

    def __init__(self, captured: Callable[[], tuple[str, str]]) -> None:
        self.captured = captured  # stdout and stderr since the last call
        self.server = None

    def run(self, command: str) -> str:
        """Run a command line and return what it prints on stdout."""
        words = shlex.split(command, comments=True)
        if any(mark in shlex.shlex(command, punctuation_chars=True) for mark in ("|", ">", "<")):
            return bash(command)
        match words:
            case ["multitudes", "serve", model, *options]:
                check_options(words[1:])
                return self.serve(model, dict(pairwise(options)))
            case ["multitudes", *arguments]:
                return self.multitudes(arguments)
            case ["pip", "install", *packages]:
                return check_packages(packages)
            case ["make", *targets]:
                return check_targets(targets)
            case ["curl", *arguments] if "localhost" in command:
                return self.curl(arguments)
            case ["curl", "-O", address]:
                return self.download(address)
        return bash(command)

    def download(self, address: str) -> str:
        """What stands in for a file of the internet is here already."""
        assert address.startswith("https://"), address
        assert Path(address.rpartition("/")[2]).exists(), f"nothing stands in for {address}"
        return ""

    def multitudes(self, arguments: list[str]) -> str:
        arguments = tiny(arguments)
        self.captured()
        try:
            main(arguments)
        except SystemExit as ended:
            failed = bool(ended.code)
            printed, remarks = self.captured()
            assert not failed, f"multitudes {shlex.join(arguments)}\n{remarks}"
            return printed
        raise AssertionError("main must end by SystemExit")

    def serve(self, model: str, options: dict[str, str]) -> str:
        from fastapi.testclient import TestClient

        from multitudes.server import make_app

        kept = options.get("--corrections")
        self.server = TestClient(make_app(Tagger.load(model), corrections=kept))
        return ""

    def curl(self, arguments: list[str]) -> str:
        assert self.server is not None, "nothing is served"
        (address,) = (word for word in arguments if word.startswith("localhost"))
        assert re.match(r"localhost:\d+/", address), address
        path = "/" + address.partition("/")[2]
        data = [word for flag, word in pairwise(arguments) if flag == "-d"]
        if data and "-H" in arguments:
            answer = self.server.post(path, json=json.loads(data[0]))
        elif data:
            answer = self.server.post(path, data=dict(field.split("=", 1) for field in data))
        else:
            answer = self.server.get(path)
        assert answer.is_success, answer.text
        return answer.text


def tiny(arguments: list[str]) -> list[str]:
    """The arguments of `train`, with small settings for a network."""
    if arguments[:1] != ["train"] or "--list-settings" in arguments:
        return arguments
    flags = [i for i, word in enumerate(arguments) if word in ("-m", "--model")]
    name = arguments[flags[0] + 1] if flags else "auto"
    if name == "auto" or model_spec(name).reads != "texts":
        return arguments
    small = TINY_GENERATOR if "seq" in name else TINY_ENCODER
    given = " ".join(arguments)
    extra = [setting for setting in small if setting.partition("=")[0] + "=" not in given]
    return [*arguments, *(word for setting in extra for word in ("--set", setting))]


def check_options(arguments: list[str]) -> None:
    """Refuse a verb, option or value that the command line would refuse; runs nothing."""
    root = typer.main.get_command(app)
    name, *rest = arguments
    verb = root.commands[name]  # type: ignore[attr-defined]
    if not {"-h", "--help"} & set(rest):
        verb.make_context(f"multitudes {name}", list(rest))


def check_packages(packages: list[str]) -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in packages:
        found = re.fullmatch(r"multitudes(?:\[([\w,]+)\])?", package)
        assert found or package in ("-U", "--upgrade"), f"pip install {package}"
        for extra in (found[1] or "").split(",") if found and found[1] else ():
            assert extra in project["optional-dependencies"], f"there is no extra {extra!r}"
    return ""


def check_targets(targets: list[str]) -> str:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"make {target}"
    return ""


def bash(command: str) -> str:
    """Run a line of pipes and redirections as bash does, with our `multitudes` on its path."""
    function = f'multitudes() {{ "{sys.executable}" -m multitudes "$@"; }}'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{function}\n{command}"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode in (0, 141), f"{command}\n{done.stderr}"
    return done.stdout
