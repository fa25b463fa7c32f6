"""multitudes predict: a model and texts to labels."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multitudes.cli import options
from multitudes.cli.streams import STANDARD, TolerantReading, output, refuse_overwriting, remark
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.tagger import Tag, Tagger
    from multitudes.tagger.prediction import Kind


@dataclasses.dataclass(frozen=True)
class Answer:
    """Which labels are wanted, and with which numbers."""

    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k", "-k", min=1, help="Labels per instance, at most: 5, or all with --sets."
        ),
    ] = None
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Leave out labels with a lower score.")
    ] = None
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities instead of scores: calibrate first.")
    ] = False
    sets: Annotated[
        bool,
        typer.Option("--sets", help="The likely label set of each instance: calibrate first."),
    ] = False

    @property
    def kind(self) -> Kind:
        """The kind of prediction."""
        return "sets" if self.sets else "probabilities" if self.proba else "scores"


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
    answer: Answer = Answer(),
    explain: Annotated[
        bool, typer.Option("--explain", help="With --text: show what is behind each label.")
    ] = False,
    computing: options.Computing = options.Computing(),
    reading: TolerantReading = TolerantReading(),
    json: options.Json = False,
) -> None:
    """Tag texts with a model.

    Writes one JSON line each: {"uid": ..., "labels": [{"label": ..., "score": ...}]}

    Example:  multitudes predict model test.jsonl -o predictions.jsonl
    """
    _check(data, text, answer)
    if data is not None:
        refuse_overwriting(data, out)
    tagger = computing.load(model)
    if data is not None:
        _tag_data(tagger, data, out, answer, reading)
    elif text is not None:
        _tag_texts(tagger, text, answer, explain=explain, json=json)


def _check(data: Path | None, text: list[str] | None, answer: Answer) -> None:
    """Refuse options that do not go together, before any work."""
    if data is None and text is None:
        raise ConfigError("predict needs data or --text: multitudes predict MODEL DATA")
    if data is not None and text is not None:
        raise ConfigError(
            f"predict takes data or --text, not both, got {data} and --text {text[0]!r}: "
            "leave out one (and quote a text of several words)"
        )
    if answer.proba and answer.sets:
        raise ConfigError(
            "predict takes --proba or --sets, not both: the labels of --sets have probabilities"
        )


def _tag_data(
    tagger: Tagger, data: Path, out: Path, answer: Answer, reading: TolerantReading
) -> None:
    from multitudes import progress
    from multitudes.data import LabelSpace
    from multitudes.tagger import predict_to

    with progress.shown(not reading.quiet):
        # Quiet, because labels in the data that the model does not know do not matter here.
        silent = dataclasses.replace(reading, quiet=True)
        dataset = silent.dataset(data, labels=LabelSpace(tagger.classes_), split="tst")
        with output(out) as file:
            n = predict_to(
                file,
                tagger,
                dataset,
                top_k=answer.top_k,
                threshold=answer.threshold,
                kind=answer.kind,
            )
    if not reading.quiet and dataset.report and dataset.report.skipped:
        remark(f"{data}: {dataclasses.replace(dataset.report, unknown_labels=0)}")
    if not reading.quiet and out != STANDARD:
        remark(f"{len(dataset):,} instances, {n:,} labels, written to {out}")


def _tag_texts(
    tagger: Tagger, texts: list[str], answer: Answer, *, explain: bool, json: bool
) -> None:
    from multitudes.cli.show import show_json
    from multitudes.tagger import predict_tags
    from multitudes.tagger.explanations import checked_explaining

    if explain and not json:
        checked_explaining(tagger.model_)
    tagged = predict_tags(
        tagger, texts, kind=answer.kind, top_k=answer.top_k, threshold=answer.threshold
    )
    if json:
        show_json(
            [
                {"text": text, "labels": [tag._asdict() for tag in tags]}
                for text, tags in zip(texts, tagged, strict=True)
            ]
        )
        return
    _show_tags(texts, tagged, score="score" if answer.kind == "scores" else "probability")
    if explain:
        for text, tags in zip(texts, tagged, strict=True):
            for tag in tags:
                typer.echo()
                typer.echo(tagger.explain(text, tag.label).table())


def _show_tags(texts: list[str], tagged: list[list[Tag]], *, score: str) -> None:
    from multitudes.cli.show import console, table

    for text, tags in zip(texts, tagged, strict=True):
        if len(texts) > 1:
            typer.echo(text)
        rows = [[tag.label, f"{tag.score:.3f}"] for tag in tags]
        console().print(table(["label", score], rows) if rows else "(no labels)")
