"""A model card for people: lines for the terminal, and Markdown as model hubs show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multitudes.tagger.reports.card import CardEvent, ModelCard

DONE = {"train": "trained", "calibrate": "calibrated", "update": "updated"}
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "R@5", "PSP@5")


def card_lines(card: ModelCard) -> Iterator[str]:
    """Yield lines about what was done to a model."""
    for event in card.events:
        yield f"\n{_headline(event)}"
        if event.data is not None:
            yield f"  data: {event.data}"
        for note in event.notes:
            yield f"  {note}"
        for part, values in event.metrics.items():
            yield f"  {part}: {_measured(values)}"
        yield f"  $ {event.command}"


def card_markdown(name: str, summary: Mapping[str, Any], card: ModelCard | None) -> str:
    """Return a model card in Markdown, with the metadata that model hubs read.

    Parameters
    ----------
    name : str
        Of the model.
    summary : mapping
        What `inspect --json` shows of the model folder.
    card : ModelCard, optional
        None for a model that was saved without one, e.g. from Python.
    """
    events = () if card is None else card.events
    parts = [
        "---\nlibrary_name: multitudes\npipeline_tag: text-classification\n"
        "tags:\n- multi-label\n- extreme-classification\n---",
        f"# {name}",
        _about(summary),
        f'```sh\nmultitudes predict {name} --text "..."\n```',
        "## Numbers\n\n" + "\n\n".join(_tables(events) or ["None were measured."]),
        "## History\n\n" + ("\n\n".join(map(_story, events)) or "Not recorded."),
        f"## Settings\n\n{_settings(summary)}",
    ]
    return "\n\n".join(parts) + "\n"


def _headline(event: CardEvent) -> str:
    date = event.date.replace("T", " ").replace("Z", " UTC")
    return f"{DONE.get(event.verb, event.verb)} {date} by multitudes {event.library_version}"


def _measured(values: Mapping[str, float]) -> str:
    some = {name: values[name] for name in SHOWN if name in values} or values
    return ", ".join(f"{name} {100 * value:.2f}" for name, value in some.items())


def _about(summary: Mapping[str, Any]) -> str:
    model = _model(summary)
    labels = f" with {summary['n_labels']:,} labels" if summary["n_labels"] else ""
    words = f" and {summary['vocabulary']:,} words" if summary["vocabulary"] else ""
    encoders = "".join(f" The text encoder is {encoder}." for encoder in summary["encoders"])
    size = f" It takes {summary['bytes'] / 1e6:,.1f} MB."
    return (
        f"A model of kind `{model['kind']}`{labels}{words}: it finds the few right labels of a "
        f"text.{encoders}{size}"
    )


def _model(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    objects: Sequence[Mapping[str, Any]] = summary["objects"]
    return next((part for part in objects if part["part"] == "model"), objects[0])


def _tables(events: Sequence[CardEvent]) -> list[str]:
    """Return a table for each part that something was measured on, in percent."""
    from multitudes.metrics.tables import grid

    found = []
    for event in events:
        for part, values in event.metrics.items():
            header, *rows = grid({name: f"{100 * value:.2f}" for name, value in values.items()})
            table = [header, ["---"] * len(header), *rows]
            lines = "\n".join(f"| {' | '.join(row)} |" for row in table)
            found.append(f"On the {part} data, in percent:\n\n{lines}")
    return found


def _story(event: CardEvent) -> str:
    lines = [f"- data: {event.data}"] if event.data is not None else []
    lines += [f"- {note}" for note in event.notes]
    listed = "\n".join(lines)
    return f"### {_headline(event)}\n\n```sh\n{event.command}\n```\n\n{listed}".rstrip()


def _settings(summary: Mapping[str, Any]) -> str:
    rows = [
        f"| {part['kind']} | {name} | `{value}` |"
        for part in summary["objects"]
        for name, value in flat_settings(part["settings"])
        if part["kind"] not in ("label-tree", "level-weights")
    ]
    return "\n".join(["| part | setting | value |", "|---|---|---|", *rows])


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested settings under the names that ``--set`` takes, e.g. solver.cost."""
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            yield from flat_settings(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
