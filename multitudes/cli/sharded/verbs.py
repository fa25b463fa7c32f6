"""train, predict and evaluate where DATA is shards: a pattern, a URL, or a folder of files."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitudes.cli.files.streams import STANDARD, Reading, TolerantReading, remark
from multitudes.errors import ConfigError, counted

if TYPE_CHECKING:
    from multitudes.cli.tagging.answers import Answer
    from multitudes.metrics import Report
    from multitudes.tagger import Tagger


def is_sharded(data: Path | None, *, on_cluster: bool = False) -> bool:
    """Return whether DATA is a pattern or a URL; or, on a cluster, a folder without splits."""
    if data is None or data == STANDARD:
        return False
    from multitudes.shards.places import names_shards

    if names_shards(data):
        return True
    return on_cluster and data.is_dir() and not _is_data_folder(data)


def _is_data_folder(folder: Path) -> bool:
    from multitudes.data.reading import detect
    from multitudes.errors import DataError

    try:
        detect(folder, "trn")
    except DataError:
        return False
    return True


def cluster_at(address: str | None) -> AbstractContextManager[None]:
    """Return the cluster to work on; this machine alone without an address."""
    if address is None:
        return nullcontext()
    from multitudes.engine import ray_cluster

    return ray_cluster(address)


def train_on_shards(
    tagger: Tagger,
    data: Path,
    folder: Path,
    checkpoint: Path | None,
    reading: TolerantReading,
    refused: dict[str, Any],
) -> float:
    """Train and save; returns the seconds. `refused` are options that shards do not go with."""
    from multitudes.shards import train_shards
    from multitudes.shards.places import remove

    for option, given in refused.items():
        if given:
            raise ConfigError(
                f"{option} needs all data on one machine, and {data} is shards: leave it out, or "
                "evaluate the model afterwards"
            )
    run = folder.with_name(f".{folder.name}.run") if checkpoint is None else checkpoint / "shards"
    start = time.perf_counter()
    settings = {"on_error": reading.on_error, "require_labels": True, **reading.settings()}
    train_shards(tagger, str(data), folder, run=run, format=reading.format, reading=settings)
    remove(run)
    return time.perf_counter() - start


def tag_shards(
    model: Path, data: Path, out: Path, answer: Answer, reading: TolerantReading
) -> None:
    """Tag each shard; the predictions are files in the folder `out`."""
    from multitudes import progress
    from multitudes.shards import predict_shards
    from multitudes.shards.places import as_place

    if out == STANDARD:
        raise ConfigError(f"{data} is shards, and so are its predictions: name a folder with -o")
    if answer.only_new or answer.labels is not None:
        raise ConfigError("--only-new and --labels do not go with shards: leave them out")
    settings = {"on_error": reading.on_error, **reading.settings()}
    with progress.shown(not reading.quiet):
        n_shards = predict_shards(
            model,
            str(data),
            out,
            top_k=answer.top_k,
            threshold=answer.threshold,
            kind=answer.kind,
            format=reading.format,
            reading=settings,
        )
    if not reading.quiet:
        remark(f"{counted(n_shards, 'shard')} tagged, written to {as_place(out)}")


def measure_shards(
    predictions: Path,
    truth: Path,
    *,
    ks: list[int],
    skip_empty: bool,
    reading: Reading,
    refused: dict[str, Any],
) -> Report:
    """Return the metrics of shards of predictions."""
    from multitudes.files.scratch import scratch_folder
    from multitudes.shards import evaluate_shards

    for option, given in refused.items():
        if given:
            raise ConfigError(f"{option} does not go with shards: leave it out, or join the files")
    with scratch_folder() as folder:
        return evaluate_shards(
            str(predictions),
            str(truth),
            run=folder / "run",
            ks=ks,
            skip_empty=skip_empty,
            format=reading.format,
            reading=reading.settings(),
        )
