"""multitudes inspect: what is in a model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli import options

if TYPE_CHECKING:
    from multitudes.disentangle import Sense
    from multitudes.labels import LabelTree
    from multitudes.store import Manifest, State

VOCABULARY = ("words", "characters")
"""Lists of strings that are what a model knows, of its features or its own."""

N_NEAREST, N_WORDS, N_TEXTS = 4, 6, 1  # what a table has room for; --json has all


def inspect(
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    tree: Annotated[bool, typer.Option("--tree", help="Draw the label tree.")] = False,
    depth: Annotated[int, typer.Option("--depth", min=1, help="Levels of the tree to draw.")] = 3,
    vocabulary: Annotated[
        bool, typer.Option("--vocabulary", help="Print the words the model knows, one per line.")
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Print the names of the labels, one per line.")
    ] = False,
    label: Annotated[
        str | None,
        typer.Option("--label", help="Show the senses of this label, with --overlap models."),
    ] = None,
    ambiguous: Annotated[
        bool,
        typer.Option("--ambiguous", help="Rank labels by how far apart their senses are."),
    ] = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Labels of --ambiguous.")] = 20,
    card: Annotated[
        bool,
        typer.Option("--card", help="Print a model card in Markdown: what it learned, and when."),
    ] = False,
    verify: options.Verify = False,
    json: options.Json = False,
) -> None:
    """Show what is in a model folder: where it comes from, settings, sizes, shapes.

    Example:  multitudes inspect model --tree
    """
    from multitudes.cli.printing.show import show_json
    from multitudes.store import read_manifest, read_state

    if verify or tree or vocabulary or labels:
        state = read_state(model, verify=verify, contents=verify or tree)
    if card:
        _show_card(model)
    elif label is not None:
        _show_senses(model, label, json=json)
    elif ambiguous:
        _show_ambiguous(model, top, json=json)
    elif tree:
        _show_trees(model, state, depth)
    elif vocabulary or labels:
        if labels:
            _show_strings([state], ("labels",), "names of labels")
        else:
            _show_strings(_walk(state), VOCABULARY, "vocabulary")
    elif json:
        show_json(_as_json(model, verified=verify))
    else:
        _show_summary(model, read_manifest(model), verified=verify)


def _as_json(model: Path, *, verified: bool) -> dict[str, Any]:
    from multitudes.store import read_manifest
    from multitudes.tagger.reports.card import ModelCard

    card = ModelCard.read(model)
    found = _summary(read_manifest(model))
    found["history"] = None if card is None else [asdict(event) for event in card.events]
    return {**found, **({"verified": True} if verified else {})}


def _show_card(model: Path) -> None:
    from multitudes.cli.printing.card_views import card_markdown
    from multitudes.store import read_manifest
    from multitudes.tagger.reports.card import ModelCard

    summary = _summary(read_manifest(model))
    typer.echo(card_markdown(model.resolve().name, summary, ModelCard.read(model)), nl=False)


def _summary(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest in a shape for reading: one entry per object of the model."""
    objects: list[dict[str, Any]] = []
    for folder, entry in manifest.root.walk():
        objects.append(
            {
                "part": folder.rstrip("/"),
                "kind": entry.kind,
                "settings": entry.config,
                "arrays": {n: [a.dtype, list(a.shape)] for n, a in entry.arrays.items()},
                "strings": dict(entry.strings),
                "folders": {name: _size(manifest, f"{folder}{name}/") for name in entry.folders},
            }
        )
    words = [part["strings"].get(name) for part in objects for name in VOCABULARY]
    return {
        "kind": manifest.root.kind,
        "library_version": manifest.library_version,
        "n_labels": manifest.root.strings.get("labels"),
        "vocabulary": sum(filter(None, words)) or None,
        "encoders": [
            str(part["settings"].get("name")) for part in objects if part["kind"] == "backbone"
        ],
        "bytes": sum(entry.n_bytes for entry in manifest.files.values()),
        "objects": objects,
    }


def _size(manifest: Manifest, home: str) -> dict[str, int]:
    """Return the number of files and bytes below a folder."""
    sizes = [entry.n_bytes for name, entry in manifest.files.items() if name.startswith(home)]
    return {"files": len(sizes), "bytes": sum(sizes)}


def _show_summary(model: Path, manifest: Manifest, *, verified: bool) -> None:
    from rich.markup import escape

    from multitudes.cli.printing.card_views import card_lines, flat_settings
    from multitudes.cli.printing.show import console, say, table
    from multitudes.tagger.reports.card import ModelCard

    out = console()
    summary = _summary(manifest)
    size = f"{summary['bytes'] / 1e6:,.1f} MB in {len(manifest.files)} files"
    say(f"{summary['kind']}, saved by multitudes {summary['library_version']}, {size}")
    counts = {"labels": summary["n_labels"], "words known": summary["vocabulary"]}
    known = [f"{count:,} {what}" for what, count in counts.items() if count]
    known += [f"encoder {name}" for name in summary["encoders"]]
    say(", ".join(known) or "no lists of labels or words")
    if verified:
        say("every file has the SHA-256 of the manifest, and the contents fit each other")
    card = ModelCard.read(model)
    for line in () if card is None else card_lines(card):
        say(line, hanging=4)
    for part in summary["objects"]:
        kind = escape(part["kind"])
        out.print(f"\n[bold]{kind}[/bold]" + (f"  ({part['part']})" * bool(part["part"])))
        rows = [[name, str(value)] for name, value in flat_settings(part["settings"])]
        rows += [[name, f"{count:,} strings"] for name, count in part["strings"].items()]
        rows += [
            [name, f"{dtype} {' x '.join(f'{n:,}' for n in shape) or 'number'}"]
            for name, (dtype, shape) in part["arrays"].items()
        ]
        rows += [
            [f"{name}/", f"{size['files']} files, {size['bytes'] / 1e6:,.1f} MB"]
            for name, size in part["folders"].items()
        ]
        out.print(table(["", ""], rows, left=2))


def _show_trees(model: Path, state: State, depth: int) -> None:
    """Draw the label trees; clusters are named by words, if the model has trained on words."""
    from multitudes.cli.printing.show import say
    from multitudes.errors import StoreError
    from multitudes.labels import LabelTree
    from multitudes.store import build

    try:
        loaded = build(state)  # which checks all that is read below
    except StoreError as error:
        raise StoreError(f"{model}: {error}") from error
    owners = [part for part in _walk(state) if "tree" in part.parts]
    trees = [part for part in _walk(state) if part.kind == "label-tree"]
    if not trees:
        raise StoreError(f"this model of kind {state.kind!r} has no label tree to draw")
    words = _feature_names(loaded)
    names = state.strings.get("labels")
    for stored in trees:
        tree = LabelTree.from_state(stored)
        owner = next((part for part in owners if part.parts["tree"] is stored), None)
        namer = None if owner is None or words is None else _namer(tree, owner, words)
        say(tree.render(names, max_depth=depth, cluster_name=namer), hanging=4)


def _feature_names(loaded: object) -> Sequence[str] | None:
    """Return the words that a tagger's features stand for."""
    from multitudes.tagger import Tagger

    return loaded._feature_names() if isinstance(loaded, Tagger) else None


def _namer(tree: LabelTree, owner: State, words: Sequence[str]) -> Callable[[int, int], str]:
    """Return what names clusters by the words that lead to them."""
    from multitudes.linear.cluster_words import cluster_namer
    from multitudes.linear.level_weights import LevelWeights

    levels = [LevelWeights.from_state(owner.parts[f"level-{i}"]) for i in range(tree.depth)]
    return cluster_namer(tree, levels, words)


def _show_strings(states: list[State], names: Sequence[str], what: str) -> None:
    """Print the lists of strings with these names, one string per line."""
    from multitudes.errors import StoreError

    lists = [state.strings[name] for state in states for name in names if name in state.strings]
    if not lists:
        raise StoreError(f"this {states[0].kind} stores no {what}")
    for values in lists:
        for start in range(0, len(values), 10_000):
            typer.echo("\n".join(islice(values, start, start + 10_000)))


def _walk(state: State) -> list[State]:
    return [state, *(inner for part in state.parts.values() for inner in _walk(part))]


def _show_senses(model: Path, label: str, *, json: bool) -> None:
    """Show a line for each leaf of a label: its neighbors, its words, a typical text."""
    from multitudes.cli.printing.show import console, say, show_json, table
    from multitudes.tagger import Tagger

    senses = Tagger.load(model).senses(label)
    if json:
        show_json({"label": label, "senses": [_plain(sense) for sense in senses]})
        return
    several_trees = any(sense.tree for sense in senses)
    rows = [
        [
            f"{sense.tree}/{sense.leaf}" if several_trees else str(sense.leaf),
            f"{sense.n_instances:,}",
            " · ".join(sense.nearest[:N_NEAREST]),  # names may hold commas
            " · ".join(word for word, _ in sense.words[:N_WORDS]),
            "\n".join(sense.texts[:N_TEXTS]),
        ]
        for sense in senses
    ]
    header = ["tree/leaf" if several_trees else "leaf", "texts"]
    say(f"{label}: {len(senses)} senses\n" if len(senses) > 1 else f"{label}\n")
    console().print(
        table([*header, "nearest labels", "telling words", "a typical text"], rows, left=5)
    )


def _plain(sense: Sense) -> dict[str, Any]:
    names = ("tree", "leaf", "nearest", "words", "texts")
    return {"n_texts": sense.n_instances, **{name: getattr(sense, name) for name in names}}


def _show_ambiguous(model: Path, top: int, *, json: bool) -> None:
    """Show a line for each label, the most ambiguous first."""
    from multitudes.cli.printing.show import console, say, show_json, table
    from multitudes.tagger import Tagger

    found = Tagger.load(model).ambiguous_labels(top_k=top)
    if json:
        rows: list[Any] = [row._asdict() for row in found]
        show_json([row | {"n_texts": row.pop("n_instances")} for row in rows])
        return
    rows = [
        [str(row.label), f"{row.n_instances:,}", *(f"{value:.2f}" for value in row[1:4])]
        for row in found
    ]
    columns = ["separation", "silhouette", "variation"]
    console().print(table(["label", "texts", *columns], rows))
    say(
        "\nsilhouette: how much nearer a label's texts are to those of their own sense than to the "
        "other, at most 1; separation: its mean over senses, those of few texts counting less; "
        "variation: bits by which the texts are divided among leaves"
    )
