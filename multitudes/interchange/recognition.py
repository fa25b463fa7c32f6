"""Which library wrote a model folder, told by the files in it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

OMIKUJI_SETTINGS = "settings.json"
OMIKUJI_TREES = "tree*.cbor"
PECOS_PARAMETERS = "param.json"
PECOS_RANKER = "ranker"
PECOS_ENSEMBLE = "xlinear_ensemble"
PECOS_LEVEL = "{}.model"


def library_of(path: str | PathLike[str]) -> str | None:
    """Return "pecos" or "omikuji" for a model folder of that library, else None.

    Only names of files are looked at, so a damaged model is recognized too.
    """
    folder = Path(path)
    try:
        if not folder.is_dir():
            return None
    except OSError:  # e.g. a name that is too long
        return None
    if (folder / OMIKUJI_SETTINGS).is_file() and any(folder.glob(OMIKUJI_TREES)):
        return "omikuji"
    if (folder / PECOS_ENSEMBLE).is_dir():
        return "pecos"
    parts = (PECOS_RANKER, PECOS_LEVEL.format(0), "text_encoder", "concat_model")
    if (folder / PECOS_PARAMETERS).is_file() and any((folder / part).is_dir() for part in parts):
        return "pecos"
    return None
