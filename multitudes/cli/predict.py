"""multitudes predict: a model and texts to labels."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multitudes.cli import options
from multitudes.cli.streams import STANDARD, Reading, output, refuse_overwriting, remark
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.tagger import Tag, Tagger
    from multitudes.tagger.probabilities import Kind


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    data: Annotated[Path | None, typer.Argument(help="File or folder to tag; - is stdin.")] = None,
    out: Annotated[
        Path, typer.Option("--output", "-o", help="Prediction file; - is stdout.")
    ] = STANDARD,
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Tag this text and show its labels. May be repeated."),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k", "-k", min=1, help="Labels per instance, at most: 5, or all with --sets."
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Leave out labels with a lower score.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities instead of scores: calibrate first.")
    ] = False,
    sets: Annotated[
        bool,
        typer.Option("--sets", help="The likely label set of each instance: calibrate first."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="With --text: show what is behind each label.")
    ] = False,
    device: options.Device = None,
    precision: options.Precision = None,
    format: options.Format = None,
    on_error: options.OnError = "raise",
    read: options.Read = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Tag texts with a model.

    Writes one JSON line each: {"uid": ..., "labels": [{"label": ..., "score": ...}]}

    Example:  multitudes predict model test.jsonl -o predictions.jsonl
    """
    from multitudes import progress
    from multitudes.data import LabelSpace
    from multitudes.tagger import Tagger, predict_to

    if data is None and text is None:
        raise ConfigError("predict needs data or --text: multitudes predict MODEL DATA")
    if data is not None and text is not None:
        raise ConfigError(
            f"predict takes data or --text, not both, got {data} and --text {text[0]!r}: "
            "leave out one (and quote a text of several words)"
        )
    if proba and sets:
        raise ConfigError(
            "predict takes --proba or --sets, not both: the labels of --sets have probabilities"
        )
    if data is not None:
        refuse_overwriting(data, out)
    tagger = Tagger.load(model).to(device or "auto", precision=precision)
    kind: Kind = "sets" if sets else "probabilities" if proba else "scores"
    if text is not None:
        tagged = tagger.predict_as(kind, text, top_k=top_k, threshold=threshold)
        score = "score" if kind == "scores" else "probability"
        _show_texts(text, tagged, score=score, json=json)
        if explain and not json:
            _show_words(tagger, text, tagged)
        return
    assert data is not None
    with progress.shown(not quiet):
        # Quiet, because labels in the data that the model does not know are no loss here.
        reading = Reading(format, read or [], on_error, quiet=True)
        dataset = reading.read(data, labels=LabelSpace(tagger.labels_), split="tst")
        with output(out) as file:
            n = predict_to(file, tagger, dataset, top_k=top_k, threshold=threshold, kind=kind)
    if not quiet and dataset.report and dataset.report.skipped:
        remark(f"{data}: {dataclasses.replace(dataset.report, unknown_labels=0)}")
    if not quiet and out != STANDARD:
        remark(f"{len(dataset):,} instances, {n:,} labels, written to {out}")


def _show_texts(texts: list[str], tagged: list[list[Tag]], *, score: str, json: bool) -> None:
    from multitudes.cli.show import console, show_json, table

    if json:
        show_json(
            [
                {"text": text, "labels": [tag._asdict() for tag in tags]}
                for text, tags in zip(texts, tagged, strict=True)
            ]
        )
        return
    for text, tags in zip(texts, tagged, strict=True):
        if len(texts) > 1:
            typer.echo(text)
        rows = [[tag.label, f"{tag.score:.3f}"] for tag in tags]
        console().print(table(["label", score], rows) if rows else "(no labels)")


def _show_words(tagger: Tagger, texts: list[str], tagged: list[list[Tag]]) -> None:
    """What carried each label's score: words level by level, or parts of a prototype."""
    for text, tags in zip(texts, tagged, strict=True):
        for tag in tags:
            typer.echo()
            typer.echo(tagger.explain(text, tag.label).table())
