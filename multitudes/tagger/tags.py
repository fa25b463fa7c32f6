"""Tags: labels of texts by name, as lists, as a table, and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from multitudes import views
from multitudes.frames import tidy_frame
from multitudes.types import Predictions


class Tag(NamedTuple):
    """A label given to a text, and its score."""

    label: str
    score: float


class TagLists(list[list[Tag]]):
    """The tags of each text, best first: a list of lists, with other forms of the same.

    Examples
    --------
    >>> found = TagLists([[Tag("belts", 0.93), Tag("leather", 0.81)], []])
    >>> found.to_lists()
    [['belts', 'leather'], []]
    """

    def to_lists(self) -> list[list[str]]:
        """Return the label names of each text alone."""
        return [[tag.label for tag in tags] for tags in self]

    def to_frame(self, *, rows: Iterable[Any] | None = None) -> Any:
        """Return a pandas DataFrame with a line for each tag: row, rank, label, score.

        Parameters
        ----------
        rows : iterable, optional
            What to call the texts, e.g. the index of the DataFrame they come from; defaults to
            0, 1, 2, ...
        """
        labels = [tag.label for tags in self for tag in tags]
        scores = [tag.score for tags in self for tag in tags]
        return tidy_frame(list(map(len, self)), labels, scores, rows)

    def _repr_html_(self) -> str:
        shown = [
            [number, views.joined([_view(tag) for tag in tags], "")]
            for number, tags in islice(enumerate(self), views.MAX_ROWS)
        ]
        rest = views.others(len(self), views.MAX_ROWS, "texts")
        return views.table(["text", "labels"], shown, left=2) + rest


def _view(tag: Tag) -> views.Html:
    """Return a label on a green that is the stronger the nearer its score is to 1."""
    return views.weighted(tag.label, tag.score, largest=1.0, form=".2f")


def named_tags(predictions: Predictions, names: Sequence[str]) -> TagLists:
    """Return the labels of each row by name, best first."""
    rows = zip(predictions.labels.tolist(), predictions.scores.tolist(), strict=True)
    return TagLists(
        [
            Tag(names[label], score)
            for label, score in zip(labels, scores, strict=True)
            if label >= 0
        ]
        for labels, scores in rows
    )
