"""What `multitudes convert` does with a model folder of another library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from multitudes.cli.files.streams import STANDARD, remark
from multitudes.errors import ConfigError

LabelNames: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="Label names of an imported model: a name per line, or lbl.jsonl; else they are ids.",
    ),
]


def import_model_folder(
    source: Path,
    target: Path,
    labels: Path | None,
    about_data: Mapping[str, object],
    *,
    quiet: bool,
) -> bool:
    """Save a model of PECOS or omikuji as ours; False if the source is something else.

    `about_data` are the options that make sense for data alone.
    """
    from multitudes.interchange import library_of

    if library_of(source) is None:
        if labels is not None:
            raise ConfigError(
                "--labels names the labels of a model of PECOS or omikuji, and "
                f"{source} is not a model folder of these: leave it out"
            )
        return False
    for option in [name for name, value in about_data.items() if value]:
        raise ConfigError(f"{option} is about data, and {source} is a model: leave it out")
    _check_target(target)
    names = None if labels is None else _read_names(labels)

    from multitudes import interchange
    from multitudes.store.folder import writing

    with writing(target):
        tagger = interchange.import_model(source, labels=names)
        tagger.save(target)
    if not quiet:
        takes = "texts" if tagger.takes_texts_ else f"X of {tagger.features_.n_features_:,} columns"
        remark(
            f"{tagger.choice_}: {len(tagger.classes_):,} labels, over {takes}; saved to {target}"
        )
    return True


def _check_target(target: Path) -> None:
    """Refuse a place that is taken before the work, not after it."""
    if target == STANDARD:
        raise ConfigError("a model is saved as a folder, not to stdout: name a folder")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(f"{target} is there already: name a new folder for the model")


def _read_names(path: Path) -> list[str]:
    from multitudes.data.compression import uncompressed_suffix
    from multitudes.data.folders import read_feature_file, read_label_file

    if uncompressed_suffix(path) == ".jsonl":
        return list(read_label_file(path).names)
    return read_feature_file(path)
