"""multitudes predict: a model and texts to labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import (
    STANDARD,
    TolerantReading,
    claimed,
    output,
    refuse_overwriting,
    remark,
)
from multitudes.cli.sharded.verbs import cluster_at, is_sharded, tag_shards
from multitudes.cli.tagging.answers import Answer, Texts
from multitudes.errors import ConfigError, counted

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.tagger import Tagger, Written


def _formats() -> list[str]:
    from multitudes.data.predictions.writing import FORMATS

    return list(FORMATS)


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            help="File or folder to tag; - is stdin. Many files: a pattern in quotes, a URL."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--output", "-o", help="Prediction file; - is stdout.")
    ] = STANDARD,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--output-format",
            metavar="FORMAT",
            autocompletion=_formats,
            help="jsonl, csv, tsv or parquet; by default the suffix of -o says so.",
        ),
    ] = None,
    texts: Texts = Texts(),
    answer: Answer = Answer(),
    computing: options.Computing = options.Computing(),
    reading: TolerantReading = TolerantReading(),
    ray: options.Ray = None,
    json: options.Json = False,
) -> None:
    """Tag texts with a model.

    Writes a JSON line per instance, {"uid": ..., "labels": [{"label": ..., "score": ...}]}, or a
    table with a row per label: -o FILE.csv, .tsv or .parquet.

    Example:  multitudes predict model test.jsonl -o predictions.jsonl
    """
    from multitudes.data.predictions.writing import prediction_format

    _check(data, texts, answer, out)
    if data is not None and is_sharded(data, on_cluster=ray is not None):
        with cluster_at(ray):
            tag_shards(model, data, out, answer, reading)
        return
    if ray is not None:
        raise ConfigError(
            "--ray tags many files at a time: give a pattern in quotes, a URL or a folder of files"
        )
    format = prediction_format(out, output_format)
    if data is not None:
        refuse_overwriting(data, out)
    with claimed(texts.html if data is None else out):
        tagger = computing.load(model)
        if data is not None:
            _tag_data(tagger, data, (out, format), answer, reading)
        elif texts.text is not None:
            from multitudes.cli.tagging.tag_texts import tag_texts

            tag_texts(tagger, texts, answer, quiet=reading.quiet, json=json)


def _check(data: Path | None, texts: Texts, answer: Answer, out: Path) -> None:
    """Refuse options that do not go together, before any work."""
    if data is None and texts.text is None:
        raise ConfigError("predict needs data or --text: multitudes predict MODEL DATA")
    if data is not None and texts.text is not None:
        raise ConfigError(
            f"predict takes data or --text, not both, got {data} and --text {texts.text[0]!r}: "
            "leave out one (and quote a text of several words)"
        )
    if answer.proba and answer.sets:
        raise ConfigError(
            "predict takes --proba or --sets, not both: the labels of --sets have probabilities"
        )
    if texts.html is not None and not texts.explain:
        raise ConfigError(f"--html writes explanations: add --explain to get {texts.html}")
    if data is not None and texts.explain:
        raise ConfigError(
            "--explain goes with --text: give the text to be explained, --text '...' --explain"
        )
    if data is None and answer.only_new:
        raise ConfigError("--only-new leaves out labels that are in DATA, and --text has none")
    if data is None and out != STANDARD:
        raise ConfigError(
            f"--text shows labels on the terminal and writes no {out}: add --json and redirect "
            "it, or give the texts as data"
        )


def _tag_data(
    tagger: Tagger, data: Path, target: tuple[Path, str], answer: Answer, reading: TolerantReading
) -> None:
    from multitudes import progress
    from multitudes.data.predictions.alignment import over_names
    from multitudes.tagger import predict_to

    out, format = target
    among = answer.among(tagger, quiet=reading.quiet)
    with progress.shown(not reading.quiet):
        dataset = reading.dataset(data, split="tst", tagging=True)
        dataset = over_names(dataset, tagger.classes_)
        with output(out) as file:
            written = predict_to(
                file,
                tagger,
                dataset,
                top_k=answer.top_k,
                threshold=answer.threshold,
                kind=answer.kind,
                among=among,
                format=format,
            )
    if not reading.quiet:
        _say_what_was_done(data, dataset, out, written, answer)


def _say_what_was_done(
    data: Path, dataset: Dataset, out: Path, written: Written, answer: Answer
) -> None:
    if answer.only_new and not dataset.Y.nnz:
        remark(f"{data}: no instance has a label of the model, so --only-new left nothing out")
    n, n_labels = written.n_instances, written.n_labels
    if written.n_unknown:
        remark(
            f"{written.n_unknown:,} of {n:,} instances have no word that the model knows: they got "
            "the labels of any text"
        )
    if out != STANDARD:
        each = f"{n_labels / n:.1f} labels each ({n_labels:,} in all)" if n else "no labels"
        remark(f"{counted(n, 'instance')}, {each}, written to {out}")
