"""Texts of the command line, tagged and shown: each with its labels and why it got them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from multitudes.cli.files.streams import remark

if TYPE_CHECKING:
    from multitudes.cli.tagging.answers import Answer, Texts
    from multitudes.tagger import Tag, Tagger

SHOWN = 60  # characters of a text in remarks


def tag_texts(tagger: Tagger, given: Texts, answer: Answer, *, quiet: bool, json: bool) -> None:
    """Tag texts and show them one by one: labels, and with --explain what is behind each."""
    from multitudes.cli.printing.show import show_json
    from multitudes.tagger import predict_tags
    from multitudes.tagger.explanations import checked_explaining

    texts = given.text or []
    if given.explain:
        checked_explaining(tagger.model_)
    tagged = predict_tags(
        tagger,
        texts,
        kind=answer.kind,
        top_k=answer.top_k,
        threshold=answer.threshold,
        among=answer.among(tagger, quiet=quiet),
    )
    nothing_known = set(tagger.unreadable(texts))
    unknown = [row in nothing_known for row in range(len(texts))]
    if given.html is not None:
        _write_page(given.html, tagger, texts, tagged, quiet=quiet)
        if not json:
            return
    if json:
        rows = zip(texts, tagged, unknown, strict=True)
        show_json([_plain(tagger, *row, explain=given.explain) for row in rows])
        return
    for number, (text, tags) in enumerate(zip(texts, tagged, strict=True)):
        if number:
            typer.echo()
        if len(texts) > 1:
            typer.secho(text.strip() or "(empty)", bold=True)
        if unknown[number] and not quiet:
            remark(_sentence(text))
        _show_labels(tags, answer.score, tagger.titles_)
        if given.explain:
            _show_reasons(tagger, text, tags)


def _write_page(
    path: Path, tagger: Tagger, texts: list[str], tagged: list[list[Tag]], *, quiet: bool
) -> None:
    from multitudes.cli.printing.html_page import write_page

    title = texts[0] if len(texts) == 1 else f"{len(texts)} texts"
    write_page(path, tagger, texts, tagged, title=title)
    if not quiet:
        remark(f"written to {path}")


def _sentence(text: str) -> str:
    if not text.strip():
        return "this text is empty: the scores are those of any text"
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return f"no word of {shown!r} is known to the model: the scores are those of any text"


def _show_labels(tags: list[Tag], score: str, titles: dict[str, str]) -> None:
    from multitudes.cli.printing.show import console, table

    names = ["label", "title"] if titles else ["label"]
    rows = [
        [tag.label, titles.get(tag.label, tag.label), f"{tag.score:.3f}"]
        if titles
        else [tag.label, f"{tag.score:.3f}"]
        for tag in tags
    ]
    shown = table([*names, score], rows, left=len(names)) if rows else "(no labels)"
    console().print(shown)


def _show_reasons(tagger: Tagger, text: str, tags: list[Tag]) -> None:
    from multitudes.cli.printing.show import say

    for tag in tags:
        typer.echo()
        say(tagger.explain(text, tag.label).table(), hanging=4)


def _plain(
    tagger: Tagger, text: str, tags: list[Tag], unknown: bool, *, explain: bool
) -> dict[str, Any]:
    """Return a text and its labels for JSON."""
    titles = tagger.titles_
    labels: list[dict[str, Any]] = [
        tag._asdict() | ({"title": titles.get(tag.label, tag.label)} if titles else {})
        for tag in tags
    ]
    if explain:
        for label in labels:
            label["explanation"] = tagger.explain(text, label["label"]).to_dict()
    return {"text": text, "labels": labels, **({"no_known_word": True} if unknown else {})}
