"""Tag shards: each becomes a file of predictions, on whatever machine."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multitudes.data import ReadOptions, read_dataset
from multitudes.data.predictions.alignment import over_names
from multitudes.engine import Cluster, LocalCluster, current_cluster
from multitudes.errors import ConfigError, require
from multitudes.shards.places import find_shards, local_copy
from multitudes.shards.run import Run, Stage
from multitudes.store.manifest import MANIFEST
from multitudes.tagger import Tagger, predict_to
from multitudes.tagger.settings import set_where_known
from multitudes.version import __version__


class Tagging(NamedTuple):
    """Which model tags, and how; see `predict_shards`."""

    model: str
    token: str
    top_k: int | None
    threshold: float | None
    kind: Any
    format: str | None
    reading: Mapping[str, Any]


class PredictionFolder(Run):
    """A `Run` whose pieces are files of predictions."""

    def _piece(self, stage: str, number: int) -> str:
        return self._place(f"{stage}-{number:05d}.jsonl")


def predict_shards(
    model: str | os.PathLike[str],
    shards: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    top_k: int | None = None,
    threshold: float | None = None,
    kind: Any = "scores",
    format: str | None = None,
    reading: Mapping[str, Any] | None = None,
    cluster: Cluster | None = None,
) -> int:
    """Tag the instances of shards; shard i becomes ``part-0000i.jsonl``; returns their number.

    What is written is what `multitudes predict` writes for each shard. Files that are there already
    are kept: called again after a crash, it goes on.

    Parameters
    ----------
    model : path
        Folder of the model, seen by all machines.
    shards, format, reading, cluster
        As `train_shards` takes them.
    out : path or URL
        Folder of the predictions, seen by all machines.
    top_k, threshold, kind
        As `predict_to` takes them.
    """
    folder = Path(model).absolute()
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise ConfigError(f"{model} is not the folder of a model: it has no {MANIFEST}")
    places = find_shards(shards)
    how = Tagging(
        str(folder), manifest.read_text(), top_k, threshold, kind, format, dict(reading or {})
    )
    about = {"shards": places, "how": how._asdict(), "version": __version__}
    run = PredictionFolder.open(out, about)
    at_work = cluster or current_cluster() or LocalCluster()
    run.map(at_work, PREDICTING, how, places, costs=[1.0] * len(places))
    return len(places)


def predict_shard(run: Run, how: Tagging, place: str) -> bytes:
    """Return the predictions of one shard as JSON lines."""
    tagger = loaded(how.model, how.token)
    options = ReadOptions.from_dict({"split": "tst", **how.reading})
    dataset = read_dataset(local_copy(place), format=how.format, options=options)
    out = io.BytesIO()
    predict_to(
        out, tagger, over_names(dataset, tagger.classes_), top_k=how.top_k,
        threshold=how.threshold, kind=how.kind,
    )  # fmt: skip
    return out.getvalue()


PREDICTING = Stage("part", "tagging shards", predict_shard)


@lru_cache(maxsize=1)
def loaded(model: str, token: str) -> Tagger:
    """Load a model once in a process, for a thread at a time; `token` changes with the model."""
    tagger = Tagger.load(model)
    set_where_known(tagger.model_, "n_jobs", 1)
    if tagger.features_ is not None:
        set_where_known(tagger.features_, "n_jobs", 1)
    return tagger


class TagBatch:
    """Tags batches of a `ray.data.Dataset`: ``dataset.map_batches(TagBatch, ...)``.

    See `tag_dataset`.
    """

    def __init__(self, model: str, text: str, top_k: int) -> None:
        self._tagger = loaded(model, "")
        self._text, self._top_k = text, top_k

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Add the labels of each text, best first, and their scores."""
        if self._text not in batch:
            raise ConfigError(
                f"the dataset has no column {self._text!r}: it has {', '.join(batch)}"
            )
        found = self._tagger.predict([str(text) for text in batch[self._text]], top_k=self._top_k)
        labels, scores = np.empty((2, len(found)), object)
        for i, tags in enumerate(found):
            labels[i] = [tag.label for tag in tags]
            scores[i] = [float(tag.score) for tag in tags]
        return {**batch, "predicted": labels, "scores": scores}


def tag_dataset(
    dataset: Any, model: str | os.PathLike[str], *, text: str = "text", top_k: int = 5
) -> Any:
    """Return a `ray.data.Dataset` with the labels of each text in a column ``predicted``.

    Parameters
    ----------
    dataset : ray.data.Dataset
        E.g. of ``ray.data.read_json``, ``read_parquet``, or ``from_items`` for anything that can be
        iterated over. It is streamed: nothing is held whole.
    model : path
        Folder of the model, seen by all machines.
    text : str
        The column of the texts.
    top_k : int
        Labels per text, at most.
    """
    ray = require("ray", extra="ray")
    n_cores = max(int(ray.cluster_resources().get("CPU", 1)), 1)
    return dataset.map_batches(
        TagBatch,
        fn_constructor_args=(str(Path(model).absolute()), text, top_k),
        concurrency=(1, n_cores),
        num_cpus=1,
        batch_size=4096,
    )
