"""The senses of labels as tables, for multitudes inspect."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from multitudes.cli.show import console, show_json, table

N_NEAREST, N_WORDS, N_TEXTS = 4, 6, 1  # what a table has room for; --json has all


def show_senses(model: Path, label: str, *, json: bool) -> None:
    """A line for each leaf of a label: its neighbors, its words, a typical text."""
    from multitudes.tagger import Tagger

    senses = Tagger.load(model).senses(label)
    if json:
        show_json({"label": label, "senses": [asdict(sense) for sense in senses]})
        return
    several_trees = any(sense.tree for sense in senses)
    rows = [
        [
            f"{sense.tree}/{sense.leaf}" if several_trees else str(sense.leaf),
            f"{sense.n_texts:,}",
            " · ".join(sense.nearest[:N_NEAREST]),  # names may hold commas
            " · ".join(word for word, _ in sense.words[:N_WORDS]),
            "\n".join(sense.texts[:N_TEXTS]),
        ]
        for sense in senses
    ]
    header = ["tree/leaf" if several_trees else "leaf", "texts"]
    out = console()
    out.print(f"{label}: {len(senses)} senses" if len(senses) > 1 else label, markup=False)
    out.print()
    out.print(table([*header, "nearest labels", "telling words", "a typical text"], rows, left=5))


def show_ambiguous(model: Path, top: int, *, json: bool) -> None:
    """A line for each label, the most ambiguous first."""
    from multitudes.tagger import Tagger

    found = Tagger.load(model).ambiguous_labels(top_k=top)
    if json:
        show_json([row._asdict() for row in found])
        return
    rows = [
        [row.label, f"{row.n_texts:,}", *(f"{value:.2f}" for value in row[1:4])] for row in found
    ]
    out = console()
    out.print(table(["label", "texts", "distance", "variation", "cosine"], rows))
    out.print(
        "\ndistance = variation * (1 - cosine); variation: bits by which the label's texts are "
        "divided among its leaves; cosine: between the words that tell them"
    )
