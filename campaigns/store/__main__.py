"""``python -m campaigns.store``: damaged folders of models of every kind."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from campaigns.framework import Campaign, Case, Nameless, SilentChange, main
from campaigns.store import damage as damages
from campaigns.store import models
from multitudes.errors import DataError, MultitudesError

AS_IS, REPAIRED = "as is", "repaired"
VERIFY = ("", "", "verify")
INSPECT = (
    ["inspect"], ["inspect", "--json"], ["inspect", "--tree"], ["inspect", "--labels"],
    ["inspect", "--vocabulary"], ["inspect", "--card"], ["inspect", "--verify"],
)  # fmt: skip


class Store(Campaign):
    """A damaged model is refused; it never crashes, hangs, or answers otherwise in silence."""

    name = "store"
    batch = 100
    reducible = False
    default_cases = 2_000

    def __init__(self) -> None:
        self.models = models.names()
        self.targets = [f"{name} {mode}" for name in self.models for mode in (AS_IS, REPAIRED)]
        missing = {name: models.needs(name) for name in self.models}
        self.missing = {
            name: package
            for name, package in missing.items()
            if package and not importlib.util.find_spec(package)
        }

    def unavailable(self) -> dict[str, str]:
        return {
            f"{name} {mode}": f"needs {package}"
            for name, package in self.missing.items()
            for mode in (AS_IS, REPAIRED)
        }

    def prepare(self, folder: Path) -> None:
        models.save_all(folder, [name for name in self.models if name not in self.missing])
        self.enter(folder)  # compiles and caches kernels

    def enter(self, folder: Path) -> None:
        os.environ["MULTITUDES_CACHE"] = str(folder / f"cache{os.getpid()}")
        self.files: dict[str, dict[str, bytes]] = {}
        self.inputs: dict[str, Any] = {}
        self.expected: dict[str, str] = {}
        for name in self.models:
            if name in self.missing:
                continue
            place = folder / name
            self.files[name] = {
                str(path.relative_to(place / "model")): path.read_bytes()
                for path in sorted((place / "model").rglob("*"))
                if path.is_file()
            }
            self.inputs[name] = models.inputs_of(place)
            self.expected[name] = self._answers(name, place / "model", verify=True)

    def _answers(self, name: str, path: Path, *, verify: bool) -> str:
        from multitudes import load

        return models.answers(load(path, verify=verify), self.inputs[name])

    def suffix(self, target: str) -> str:
        return ".json"

    def describe(self, case: Case) -> str:
        return f"{case.target}: {case.content.decode(errors='replace')[:2000]}"

    def draw(self, rng: random.Random, target: str) -> Case:
        name, mode = self._parts(target)
        drawn = damages.draw(rng, self.files[name], repaired=mode == REPAIRED)
        inspect = rng.choice(INSPECT) if rng.random() < 0.15 else []
        verify = rng.random() < 0.2
        content = {"damage": drawn, "verify": verify, "inspect": inspect}
        return Case(target, json.dumps(content).encode())

    def _parts(self, target: str) -> tuple[str, str]:
        mode = AS_IS if target.endswith(AS_IS) else REPAIRED
        return target.removesuffix(mode).strip(), mode

    def run(self, case: Case) -> None:
        name, mode = self._parts(case.target)
        wanted = json.loads(case.content)
        folder = self._fresh(name)
        for damage in wanted["damage"]:
            damages.apply(damage, folder)
        if mode == REPAIRED:
            damages.repair(folder)
        try:
            if wanted["inspect"]:
                inspected(wanted["inspect"], folder)
                return
            found = self._answers(name, folder, verify=wanted["verify"])
        except MultitudesError as error:
            # A model that was changed to expect other inputs says so without its folder.
            of_inputs = mode == REPAIRED and isinstance(error, DataError)
            if folder.name not in str(error) and not of_inputs:
                raise Nameless(f"{type(error).__name__}: {error}") from error
            raise
        if mode == AS_IS and found != self.expected[name]:
            raise SilentChange(f"{name}: other answers, no error")

    def _fresh(self, name: str) -> Path:
        """The model as it was saved, in the worker's folder."""
        folder = Path(f"case-{name}").absolute()
        shutil.rmtree(folder, ignore_errors=True)
        for file, content in self.files[name].items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return folder


def inspected(arguments: list[str], folder: Path) -> None:
    """Run ``multitudes inspect``; an error that is not ours has exit code 1."""
    from typer.testing import CliRunner

    from multitudes.cli.app import app

    verb, *options = arguments
    found = CliRunner().invoke(app, [verb, str(folder), *options])
    if found.exit_code == 1:
        last = (found.stderr or found.output).strip().splitlines()[-1:]
        raise RuntimeError(f"multitudes {' '.join(arguments)}: {last}")


if __name__ == "__main__":
    sys.exit(main(Store()))
