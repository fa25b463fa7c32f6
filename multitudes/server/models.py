"""The models that are served, by name; each can be replaced while requests go on."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from multitudes.disentangle import Disentangled
from multitudes.errors import ConfigError
from multitudes.server.labels import LabelIndex
from multitudes.server.refusals import NotFoundError
from multitudes.store import read_manifest
from multitudes.tagger import Tagger

DEFAULT_NAME = "model"
UNSAVED = "unsaved"  # the version of a tagger that was not read from a folder
TRIES = 5  # to read a model that is being replaced

_INDEXING = threading.Lock()  # takes some seconds and memory where there are a million labels

Load = Callable[[Path], Tagger]


@dataclass(frozen=True, eq=False)
class Served:
    """One model as it is served: a request that has taken it keeps it, whatever comes after.

    Parameters
    ----------
    name : str
    tagger : Tagger
    path : Path, optional
        The folder it was read from.
    version : str
        A short fingerprint of what is stored there; the same content has the same.
    loaded_at : datetime
        In UTC.
    """

    name: str
    tagger: Tagger
    path: Path | None = None
    version: str = UNSAVED
    loaded_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        if not self.tagger.takes_texts_:
            raise ConfigError(
                f"the model {self.name!r} was fitted on features, and requests bring texts: fit it "
                "on texts to serve it"
            )

    @cached_property
    def labels(self) -> LabelIndex:
        """The labels, to be searched; made when it is first asked for."""
        with _INDEXING:
            made: LabelIndex | None = self.__dict__.get("labels")  # meanwhile
            return made or LabelIndex(self.tagger.classes_, self.tagger.titles_)

    @property
    def has_senses(self) -> bool:
        """Whether labels have senses that it took notes of."""
        model = self.tagger.model_
        return isinstance(model, Disentangled) and any(model.notes_)

    @classmethod
    def read(cls, name: str, path: Path, load: Load = Tagger.load) -> Self:
        """Read a model from its folder."""
        for _ in range(TRIES):
            version = version_of(path)
            tagger = load(path)
            if version_of(path) == version:  # else it was replaced meanwhile
                break
        return cls(name, tagger, path, version)


class Models:
    """The models of a server, in order: the first is asked if a request names none.

    Parameters
    ----------
    served : iterable of Served
        At least one, each with a name of its own.
    load : function of a folder
        How they are read again; by default as `Tagger.load` does.
    """

    def __init__(self, served: Iterable[Served], *, load: Load = Tagger.load) -> None:
        self._served: dict[str, Served] = {}
        self._load = load
        # Called with a tagger that was read again, before it is served.
        self.prepare: Callable[[Tagger], object] | None = None
        # Called with the tagger that was served before it, afterwards.
        self.release: Callable[[Tagger], object] | None = None
        # With several processes, another one reads models again, and says what is served then.
        self.elsewhere: Callable[[str], dict[str, Any]] | None = None
        self._reading = threading.Lock()
        for one in served:
            if one.name in self._served:
                raise ConfigError(
                    f"two models are named {one.name!r}: give one another name, as NAME=FOLDER"
                )
            self._served[one.name] = one
        if not self._served:
            raise ConfigError("there is no model to serve: give at least one")

    @classmethod
    def of(cls, given: Tagger | Mapping[str, Tagger] | Models) -> Models:
        """Return models of what `make_app` takes."""
        if isinstance(given, Models):
            return given
        named = {DEFAULT_NAME: given} if isinstance(given, Tagger) else given
        return cls(Served(name, tagger) for name, tagger in named.items())

    @classmethod
    def read(cls, folders: Mapping[str, Path], *, load: Load = Tagger.load) -> Self:
        """Read models from their folders, by name."""
        return cls((Served.read(name, path, load) for name, path in folders.items()), load=load)

    def get(self, name: str | None = None) -> Served:
        """Return a model by name, the first for None; refuse names that are not known."""
        if name is None:
            return next(iter(self._served.values()))
        found = self._served.get(name)
        if found is None:
            known = ", ".join(map(repr, list(self._served)[:20]))
            raise NotFoundError(f"there is no model {name[:100]!r}: there are {known}")
        return found

    def put(self, served: Served) -> None:
        """Replace the model of that name, or add it; requests in flight keep the one they took."""
        # A new dict, so that whoever walks through the old one goes on.
        self._served = {**self._served, served.name: served}

    def reload(self, name: str | None = None) -> Served:
        """Read a model again if its folder has another version now; return what is served then."""
        old = self.get(name)
        if old.path is None:
            raise ConfigError(f"the model {old.name!r} was not read from a folder")
        with self._reading:  # two at once would hold three models
            old = self.get(name)
            if old.path is not None and version_of(old.path) != old.version:
                new = Served.read(old.name, old.path, self._load)
                if self.prepare is not None:
                    self.prepare(new.tagger)
                self.put(new)
                if self.release is not None:
                    self.release(old.tagger)
            return self.get(name)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served.values())

    def __len__(self) -> int:
        return len(self._served)


def version_of(path: Path) -> str:
    """Return the fingerprint of what is stored in a model folder."""
    manifest = read_manifest(path)
    digest = hashlib.sha256(repr(manifest.root).encode())
    for name, entry in sorted(manifest.files.items()):
        digest.update(f"{name} {entry.sha256}\n".encode())
    return digest.hexdigest()[:12]


def named_folders(given: Iterable[str]) -> dict[str, Path]:
    """Return folders by the names that they are served under: NAME=FOLDER, or the folder's own."""
    folders: dict[str, Path] = {}
    for one in given:
        name, sign, rest = one.partition("=")
        path = Path(rest) if sign and not Path(one).exists() else Path(one)
        name = name if path != Path(one) else path.resolve().name
        if not name or name in folders:
            raise ConfigError(
                f"{one} would be served as {name!r}, which "
                f"{'is no name' if not name else 'is taken'}: give it another name, as NAME={path}"
            )
        folders[name] = path
    return folders
