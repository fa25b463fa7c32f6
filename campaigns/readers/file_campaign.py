"""A campaign over files: contents of a corpus are mutated, written and read."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import random
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from campaigns.framework import Campaign, Case, Nameless
from campaigns.mutation import Mutation
from campaigns.readers import corpora
from campaigns.readers.targets import Target
from multitudes.errors import ConfigError, MissingExtraError, MultitudesError

FROM_CORPUS = "from corpus"


class FileCampaign(Campaign):
    """No file can crash a reader, or make it hang, take memory, or raise a foreign error.

    Parameters
    ----------
    targets
        The ways to read a file.
    """

    batch = 1000
    default_cases = 20_000

    def __init__(self, targets: Iterable[Target]) -> None:
        self.by_name = {target.name: target for target in targets}
        self.targets = list(self.by_name)
        self.missing = {
            name: f"needs {', '.join(target.needs)}"
            for name, target in self.by_name.items()
            if not all(importlib.util.find_spec(package) for package in target.needs)
        }

    def prepare(self, folder: Path) -> None:
        corpora.write_all(folder)
        self.enter(folder)  # compiles and caches kernels, which would look like a hang in a case

    def enter(self, folder: Path) -> None:
        self.folder = folder
        self.mutations: dict[str, Mutation] = {}
        self.places: dict[str, Path] = {}
        for name in {target.corpus for target in self.by_name.values()}:
            contents = corpora.read_corpus(folder, name)
            if not contents and not any(
                target.corpus == name and target.name in self.missing
                for target in self.by_name.values()
            ):
                raise RuntimeError(f"the corpus {name} is empty")
            self.mutations[name] = Mutation(contents or [b""])
        self._read_all_once()

    def _read_all_once(self) -> None:
        """Read what is whole: children then find all modules and kernels loaded."""
        with tempfile.TemporaryDirectory(dir=self.folder) as place, contextlib.chdir(place):
            for name, target in self.by_name.items():
                for content in self.mutations[target.corpus].corpus[:3]:
                    if name not in self.missing:
                        with contextlib.suppress(Exception):
                            self.run(Case(name, content))
        self.places.clear()

    def unavailable(self) -> dict[str, str]:
        return self.missing

    def suffix(self, target: str) -> str:
        return Path(self.by_name[target].file).suffix or ".bin"

    def draw(self, rng: random.Random, target: str) -> Case:
        known = self.by_name[target]
        mutation = Mutation(self.mutations[known.corpus].corpus, known.tokens)
        headers = known.headers()
        header = rng.choice(headers) + b"\n" if headers else b""
        return Case(target, header + mutation.draw(rng))

    def run(self, case: Case) -> None:
        target = self.by_name[case.target]
        path = self._place(target) / target.file
        path.write_bytes(target.file_of(case.content))
        try:
            target.read(path)
        except MissingExtraError:
            raise
        except MultitudesError as error:
            named = (path.name, self.places[target.name].name)
            at_fault = target.named and not isinstance(error, ConfigError)
            if at_fault and not any(name in str(error) for name in named):
                raise Nameless(f"{type(error).__name__}: {error}") from error
            raise

    def _place(self, target: Target) -> Path:
        """The folder of a target in this process's working folder, with the files beside."""
        place = self.places.get(target.name)
        if place is None:
            key = hashlib.sha1(target.name.encode()).hexdigest()[:10]
            place = Path(f"case-{key}").absolute()
            shutil.rmtree(place, ignore_errors=True)
            (place / target.file).parent.mkdir(parents=True)
            for name, content in target.beside.items():
                if name == FROM_CORPUS:
                    self._copy(content.decode(), place)
                else:
                    (place / name).parent.mkdir(parents=True, exist_ok=True)
                    (place / name).write_bytes(content)
            self.places[target.name] = place
        return place

    def _copy(self, format: str, place: Path) -> None:
        """Copy the files of a folder that our writer has written."""
        home = self.folder / "corpora" / format
        for path in home.rglob("0000"):
            name = path.parent.relative_to(home)
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(path.read_bytes())
