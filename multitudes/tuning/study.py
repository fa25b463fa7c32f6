"""Where trials are kept: an Optuna study, in memory or in an SQLite file that outlives a kill.

Each step is a transaction of SQLite, so a process that dies loses the trial it was running and
nothing else. A lease beside the file keeps a second process out, as for all that we write.
"""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitudes.data.compression import claimed
from multitudes.errors import ConfigError, StoreError, require
from multitudes.files import disk
from multitudes.files.together import temporary_of
from multitudes.stopping import shielded

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import BaseStorage

EXTRA = "tune"
NAME = "multitudes"
ABOUT, SIZES = "about", "sizes"  # attributes of the study
SETTINGS, SECONDS, ERROR, UNFINISHED, TEST = "settings", "seconds", "error", "unfinished", "test"
STARTUP_TRIALS = 10  # near the default, before the sampler has seen enough to learn from
_MAGIC = b"SQLite format 3\0"
# What is told of a search that is not the one in the file, in this order.
_PARTS = {
    "metric": "the metric",
    "model": "the model",
    "features": "the features",
    "settings": "the fixed settings",
    "search": "the settings that are searched",
    "random_state": "the seed",
    "parts": "the growing parts",
    "data": "the data, or what is held out of it",
}


@contextmanager
def opened(path: Path | None, about: Mapping[str, Any], *, reduction: int) -> Iterator[Study]:
    """Yield a study: the one in the file if there is one, else a new one.

    Parameters
    ----------
    path : Path, optional
        An SQLite file; None keeps trials in memory.
    about : mapping
        What is searched. A file that holds another search is refused.
    reduction : int
        Of the successive halving: one of so many trials goes on to the next part.
    """
    optuna = require("optuna", extra=EXTRA)
    with quiet_optuna():
        if path is None:
            yield _loaded(_created(optuna.storages.InMemoryStorage(), about), about, reduction)
            return
        _check_place(path)
        with claimed(path), _storing(path):
            if not path.exists() or not path.stat().st_size:
                _make(path, about)
            with _storage(path) as storage:
                yield _loaded(_found(storage, path, about), about, reduction)


def _loaded(study: Study, about: Mapping[str, Any], reduction: int) -> Study:
    """Give a study the sampler and the pruner, which are not stored."""
    import optuna

    # Another seed after each start, or a search that goes on would draw what it has drawn.
    seed = (int(about["random_state"]) + 1_000_003 * len(study.get_trials(deepcopy=False))) % 2**32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.TPESampler(
            n_startup_trials=STARTUP_TRIALS,
            multivariate=True,
            seed=seed,
        )
    study.pruner = optuna.pruners.SuccessiveHalvingPruner(
        min_resource=1, reduction_factor=reduction, min_early_stopping_rate=0
    )
    return study


def _created(storage: BaseStorage, about: Mapping[str, Any]) -> Study:
    import optuna

    study = optuna.create_study(storage=storage, study_name=NAME, direction="maximize")
    study.set_user_attr(ABOUT, dict(about))
    return study


def _found(storage: BaseStorage, path: Path, about: Mapping[str, Any]) -> Study:
    """Return the study of a file; one whose first trial was never finished begins again."""
    import optuna
    from optuna.trial import TrialState

    study = optuna.load_study(storage=storage, study_name=NAME)
    _check_about(study.user_attrs.get(ABOUT), about, path)
    trials = study.get_trials(deepcopy=False)
    begun = [one for one in trials if one.state != TrialState.WAITING]
    if not begun or begun[0].state == TrialState.RUNNING or UNFINISHED in begun[0].user_attrs:
        with shielded():
            optuna.delete_study(storage=storage, study_name=NAME)
            return _created(storage, about)
    for one in trials:
        if one.state == TrialState.RUNNING:  # of a process that was killed: nobody else is here
            study.tell(one.number, state=TrialState.PRUNED)  # see Searcher._tell_failed
    return study


def _check_about(stored: Any, about: Mapping[str, Any], path: Path) -> None:
    if not isinstance(stored, dict):
        raise ConfigError(f"{path} holds a study of Optuna that multitudes did not make")
    here = json.loads(json.dumps(about))
    for name, words in _PARTS.items():
        if stored.get(name) != here.get(name):
            told = f" ({stored.get(name)}, now {here.get(name)})" if _is_short(here, name) else ""
            raise ConfigError(
                f"{path} holds another search: {words} differ{'' if words[-1] == 's' else 's'}"
                f"{told}; to begin a new one, choose another study file"
            )


def _is_short(about: Mapping[str, Any], name: str) -> bool:
    return name != "data" and len(json.dumps(about.get(name))) < 100


# ------------------------------------------------------------------ files


def _check_place(path: Path) -> None:
    """Refuse a place that cannot hold a study, before any work."""
    if path.is_dir():
        raise ConfigError(f"a study is kept in a file, and {path} is a folder")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    if start and (start != _MAGIC or not _has_study(path)):
        raise ConfigError(
            f"{path} is not a study that multitudes made: choose another file; this one stays as "
            "it is"
        )


def _has_study(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path)) as database:
            found = database.execute("SELECT 1 FROM studies WHERE study_name = ?", (NAME,))
            return found.fetchone() is not None
    except sqlite3.Error:
        return False


def _make(path: Path, about: Mapping[str, Any]) -> None:
    """Put a new study into place in one step: nobody finds a file with half of its tables."""
    target = Path(os.path.realpath(path))
    temporary = temporary_of(target)
    try:
        with shielded():
            disk.remove(temporary)
            with _storage(temporary) as storage:
                _created(storage, about)
            disk.sync_file(temporary)
            disk.replace(temporary, target)
            disk.sync_folder(target.parent)
    finally:
        disk.remove(temporary)


@contextmanager
def _storage(path: Path) -> Iterator[BaseStorage]:
    import optuna
    from sqlalchemy.pool import NullPool

    def connect() -> sqlite3.Connection:  # not by a URL, in which a name may mean something else
        return sqlite3.connect(path, timeout=30, check_same_thread=False)

    storage = optuna.storages.RDBStorage(
        "sqlite://", engine_kwargs={"creator": connect, "poolclass": NullPool}
    )
    try:
        yield storage
    finally:
        storage.engine.dispose()


@contextmanager
def _storing(path: Path) -> Iterator[None]:
    """Say in words what the database refuses."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, StorageInternalError, sqlite3.Error) as error:
        cause = getattr(error, "orig", None) or error.__cause__ or error
        cause = getattr(cause, "orig", None) or cause
        said = str(cause).partition("\n")[0]
        raise StoreError(
            f"cannot use the study {path} ({said}): what was finished before is still there if the "
            "file is whole; make room, or choose another file"
        ) from error


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Leave the talking to us; whoever uses Optuna besides gets their setting back."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
