"""import_model: a model folder of another library as a Tagger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from multitudes.errors import DataError, StoreError
from multitudes.features import PassThrough
from multitudes.interchange.omikuji import read_omikuji
from multitudes.interchange.pecos import read_pecos
from multitudes.interchange.pecos_texts import ranker_folder, read_output_items, read_tfidf
from multitudes.interchange.recognition import PECOS_ENSEMBLE, library_of
from multitudes.tagger import Tagger


class Imported(NamedTuple):
    """What a folder holds.

    Parameters
    ----------
    model : fitted tree model
    features : fitted features
    names : sequence of str or None
        The name of each label, if there are any.
    choice : str
        What it is, and what is different here.
    """

    model: Any
    features: Any
    names: Sequence[str] | None
    choice: str


def import_model(path: str | PathLike[str], *, labels: Sequence[str] | None = None) -> Tagger:
    """Read a model that PECOS or omikuji has saved.

    Its scores and rankings are those of the library that trained it, to float precision, with the
    beam that was saved (omikuji saves none: with its default of 10). Nothing in the folder is run:
    no pickle is read.

    Parameters
    ----------
    path : path
        A folder of PECOS (``XLinearModel.save``, ``Text2Text.save``) or of omikuji
        (``Model.save``).
    labels : sequence of str, optional
        The name of each label id of the other library. By default those of the folder, else the
        ids in digits.

    Returns
    -------
    Tagger
        Over texts for a Text2Text model, else over X. It predicts, explains, calibrates, is saved
        and updated as any other.

    Raises
    ------
    StoreError
        If the folder is of another kind, damaged, or holds something that cannot be imported.

    Examples
    --------
    >>> tagger = import_model("pecos-model")  # doctest: +SKIP
    >>> tagger.save("model")  # doctest: +SKIP
    """
    folder = Path(path)
    library = library_of(folder)
    if library is None:
        raise StoreError(
            f"{folder} is not a model folder of PECOS (param.json, ranker/) or omikuji "
            "(settings.json, tree0.cbor): give the folder that the library saved"
        )
    imported = _READERS[library](folder, None if labels is None else _checked_names(labels))
    tagger = Tagger(imported.model, features=imported.features)
    tagger.model_, tagger.features_ = imported.model, imported.features
    tagger.classes_, tagger.choice_ = tuple(_distinct(imported)), imported.choice
    tagger.takes_texts_ = not isinstance(imported.features, PassThrough)
    tagger.feature_names_, tagger.group_report_, tagger.calibrated_ = None, None, None
    tagger.examples_, tagger.titles_ = {}, {}
    return tagger


def _from_pecos(folder: Path, names: list[str] | None) -> Imported:
    texts = (folder / PECOS_ENSEMBLE).is_dir()
    model, remarks = read_pecos(ranker_folder(folder) if texts else folder)
    features: Any = _columns(model.n_features_in_)
    if texts:
        features = read_tfidf(folder / "preprocessor")
        names = read_output_items(folder) if names is None else names
        if features.n_features_ != model.n_features_in_:
            raise StoreError(
                f"the preprocessor of {folder} makes {features.n_features_:,} features, but the "
                f"model takes {model.n_features_in_:,}: copy the model folder again"
            )
    if names is not None and len(names) != model.n_labels_:
        raise DataError(
            f"there are {len(names):,} label names, but {folder} has {model.n_labels_:,} labels: "
            "give a name for each id from 0 on"
        )
    what = "; ".join(["an XR-Linear model of PECOS, imported", *remarks])
    return Imported(model, features, names, what)


def _from_omikuji(folder: Path, names: list[str] | None) -> Imported:
    model = read_omikuji(folder, n_labels=None if names is None else len(names))
    what = f"a forest of {model.n_trees} trees of omikuji, imported"
    # Omikuji scales each row to length 1 before it predicts.
    return Imported(model, _columns(model.n_features_in_, normalize=True), names, what)


_READERS = {"pecos": _from_pecos, "omikuji": _from_omikuji}


def _columns(n_features: int, *, normalize: bool = False) -> PassThrough:
    features = PassThrough(normalize=normalize)
    features.n_features_in_ = n_features
    return features


def _checked_names(labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str) or not all(isinstance(name, str) for name in labels):
        raise DataError("labels must be a sequence of str, a name for each label id")
    return list(labels)


def _distinct(imported: Imported) -> list[str]:
    """Return the name of each label; one that occurs twice gets the label's id behind it."""
    names = imported.names
    if names is None:
        return [str(label) for label in range(imported.model.n_labels_)]
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name} #{i}" for i, name in enumerate(names)]
