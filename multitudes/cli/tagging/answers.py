"""Options of predict: which labels are wanted, of which texts, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from multitudes.tagger import Among, Tagger
    from multitudes.tagger.prediction import Kind


@dataclass(frozen=True)
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
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="FILE|NAME,...",
            help="Predict only these labels: a file with one on each line, or names.",
        ),
    ] = None
    only_new: Annotated[
        bool,
        typer.Option("--only-new", help="Leave out the labels that instances of DATA have."),
    ] = False

    @property
    def kind(self) -> Kind:
        """The kind of prediction."""
        return "sets" if self.sets else "probabilities" if self.proba else "scores"

    @property
    def score(self) -> str:
        """What the numbers are."""
        return "score" if self.kind == "scores" else "probability"

    def among(self, tagger: Tagger, *, quiet: bool) -> Among:
        """Return which labels may be predicted."""
        from multitudes.cli.files.label_lists import listed_labels
        from multitudes.tagger import Among

        names = None
        if self.labels is not None:
            names = listed_labels(self.labels, tagger.classes_, option="--labels", quiet=quiet)
        return Among(names, self.only_new)


@dataclass(frozen=True)
class Texts:
    """Texts given on the command line, and how they are shown."""

    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Tag this text and show its labels. May be repeated."),
    ] = None
    explain: Annotated[
        bool, typer.Option("--explain", help="With --text: show what is behind each label.")
    ] = False
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="With --explain: write a page with colored words instead of showing it.",
        ),
    ] = None
