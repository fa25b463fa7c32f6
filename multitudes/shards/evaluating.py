"""Measure predictions in shards against the truth in shards: the numbers of one file, exactly.

A machine holds one pair of shards and finds, for each instance, what it adds to each metric, and
for each label how often it was predicted, true and right. The former are summed in the order of
instances, the latter are whole numbers: it does not matter where the cuts are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from multitudes.data import ReadOptions, align, read_dataset, read_prediction_file
from multitudes.engine import Cluster, LocalCluster, current_cluster
from multitudes.errors import DataError
from multitudes.metrics import Report
from multitudes.metrics.at_k import at_k_terms
from multitudes.metrics.inputs import check_ks
from multitudes.metrics.macro import LabelCounts, label_counts, values_of_counts
from multitudes.metrics.matches import longest
from multitudes.metrics.report import checked_matches, notes_on
from multitudes.metrics.terms import ratio
from multitudes.shards.places import find_shards, local_copy
from multitudes.shards.run import Arrays, Run, Stage, cut_strings, joined_strings
from multitudes.version import __version__


class Measuring(NamedTuple):
    """What is measured, and how the truth is read; see `evaluate_shards`."""

    ks: tuple[int, ...]
    skip_empty: bool
    format: str | None
    reading: Mapping[str, Any]


def evaluate_shards(
    predictions: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    truth: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    run: str | os.PathLike[str],
    ks: Iterable[int] = (1, 3, 5),
    skip_empty: bool = False,
    format: str | None = None,
    reading: Mapping[str, Any] | None = None,
    cluster: Cluster | None = None,
) -> Report:
    """Return the metrics of `multitudes evaluate` for predictions and truth in as many shards.

    Parameters
    ----------
    predictions, truth : paths, patterns or URLs
        Shard i of the one belongs to shard i of the other, as `predict_shards` writes them.
    run : path or URL
        Folder for what is finished, seen by all machines.
    ks, skip_empty
        As `multitudes.metrics.evaluate` takes them.
    format, reading, cluster
        As `train_shards` takes them, about the truth.
    """
    found, true = find_shards(predictions), find_shards(truth)
    if len(found) != len(true):
        raise DataError(
            f"there are {len(found):,} shards of predictions and {len(true):,} of the truth: each "
            "needs its own"
        )
    how = Measuring(check_ks(ks), skip_empty, format, dict(reading or {}))
    about = {"predictions": found, "truth": true, "how": how._asdict(), "version": __version__}
    work = Run.open(run, about)
    at_work = cluster or current_cluster() or LocalCluster()
    pairs = list(zip(found, true, strict=True))
    work.map(at_work, MEASURING, how, pairs, costs=[1.0] * len(pairs))
    return merged_report(work, len(pairs), how.ks)


def measure_shard(run: Run, how: Measuring, pair: tuple[str, str]) -> Arrays:
    """Return what each instance of a shard adds to each metric, and the counts of each label."""
    options = ReadOptions.from_dict({"split": "tst", "require_labels": True, **how.reading})
    truth = read_dataset(local_copy(pair[1]), format=how.format, options=options)
    predicted = read_prediction_file(local_copy(pair[0]))
    aligned = align([predicted], truth).without_filter_pairs("predictions")
    given, Y = aligned.predictions[0], aligned.truth.Y
    matches = checked_matches(given, Y, how.ks, None, None, how.skip_empty)
    pool, ends = joined_strings(list(aligned.truth.label_names or ()))
    counts = label_counts(matches, how.ks)
    out: Arrays = {
        "pool": pool,
        "ends": ends,
        "true": counts[-1].true,
        "hits": np.stack([own.hits for own in counts]),
        "predicted": np.stack([own.predicted for own in counts]),
        "about": np.array([longest(given, matches), int((matches.n_true == 0).sum())], np.int64),
    }
    for name, term in at_k_terms(matches, how.ks, None).items():
        out |= {f"+{name}": term.numerator, f"/{name}": term.denominator}
    return out


MEASURING = Stage("measured", "measuring shards", measure_shard)


def merged_report(run: Run, n_shards: int, ks: tuple[int, ...]) -> Report:
    """Put together what was measured; one metric of all instances is in memory at a time."""
    shards = [run.read(MEASURING.name, i) for i in range(n_shards)]
    names = [name[1:] for name in shards[0] if name.startswith("+")]
    order = list(_names_in_order(ks))
    values = {}
    for name in sorted(names, key=order.index):
        above, below = (np.concatenate([own[sign + name] for own in shards]) for sign in "+/")
        values[name] = float(ratio(above.sum(), below.sum()))
    counts = merged_counts(shards, len(ks))
    occurring = int(np.count_nonzero(counts[-1].occurring()))
    most = max(int(own["about"][0]) for own in shards)
    n_empty = sum(int(own["about"][1]) for own in shards)
    return Report(
        values | values_of_counts(counts, ks),
        sum(len(own[f"+{names[0]}"]) for own in shards),
        int(np.count_nonzero(counts[-1].true)),
        notes=notes_on(most, ks, occurring, n_empty),
    )


def _names_in_order(ks: tuple[int, ...]) -> Iterable[str]:
    """The names of metrics as a report has them: files of arrays have an order of their own."""
    from multitudes.metrics.matches import match

    return at_k_terms(match([[0]], [[0]], top_k=ks[-1]), ks, None)


def merged_counts(shards: list[Arrays], n_ks: int) -> list[LabelCounts]:
    """Add up what happened to each label, by name."""
    numbers: dict[str, int] = {}
    ids = [
        np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
        for own in shards
        if (names := cut_strings(own["pool"], own["ends"])) is not None
    ]
    true = np.zeros(len(numbers), np.int64)
    hits, predicted = np.zeros((2, n_ks, len(numbers)), np.int64)
    for own, where in zip(shards, ids, strict=True):
        true[where] += own["true"]
        hits[:, where] += own["hits"]
        predicted[:, where] += own["predicted"]
    return [LabelCounts(hits[k], predicted[k], true) for k in range(n_ks)]
