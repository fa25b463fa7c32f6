"""What an update has changed in a tagger."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from multitudes.errors import counted
from multitudes.features.known_words import WordCount

N_NAMES = 5
"""Labels that the text of a report names."""


@dataclass(frozen=True)
class UpdateReport:
    """What `update_tagger` has changed.

    Parameters
    ----------
    n_instances : int
        Instances learned from.
    n_assigned : int
        Labels they have in all.
    n_without_labels : int
        Instances that were left out because they have no label.
    labels_added, labels_removed : tuple of str
        By name.
    n_labels : int
        Labels of the tagger afterwards.
    n_labels_untouched : int
        Labels that the tagger had and still has, and of which no instance was among the new ones.
    words : WordCount, optional
        Words of the new texts, and how many of them the tagger does not know; None if it has no
        list of words.
    n_unknown : int
        Instances of which no word is known.
    only_new_labels : bool
        Whether the model could learn new labels, but nothing more about those it had.
    calibration_lost : bool
        Whether there was a calibration, which held for the model as it was.
    """

    n_instances: int = 0
    n_assigned: int = 0
    n_without_labels: int = 0
    labels_added: tuple[str, ...] = ()
    labels_removed: tuple[str, ...] = ()
    n_labels: int = 0
    n_labels_untouched: int = 0
    words: WordCount | None = None
    n_unknown: int = 0
    only_new_labels: bool = False
    calibration_lost: bool = False

    @property
    def mostly_unknown(self) -> bool:
        """Whether more words are unknown than known."""
        return self.words is not None and 2 * self.words.n_unknown > self.words.n_words

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        words = None if self.words is None else self.words._asdict()
        return {**asdict(self), "words": words}

    def sentences(self) -> list[str]:
        """Return what changed, a sentence each."""
        found = []
        if self.n_instances:
            each = self.n_assigned / self.n_instances
            found.append(
                f"learned from {counted(self.n_instances, 'instance')}, {each:.1f} labels each"
            )
        if self.n_without_labels:
            found.append(f"left out without a label: {self.n_without_labels:,} instances")
        if self.labels_removed:
            found.append(_listed(self.labels_removed, "removed"))
        if self.labels_added:
            found.append(_listed(self.labels_added, "added"))
        elif self.n_instances:
            found.append("no label is new")
        found.append(f"{self.n_labels:,} labels in all")
        if self.n_instances and self.n_labels_untouched:
            found[-1] += f", {self.n_labels_untouched:,} of them without a new text"
        if self.only_new_labels:
            found.append(
                "this model learned the new labels, and nothing more about those it had: train "
                "again on all data for that"
            )
        return [*found, *self._about_words(), *self._about_calibration()]

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def _about_words(self) -> list[str]:
        found = []
        if self.words is not None and self.words.n_unknown:
            share = 100 * self.words.n_unknown / self.words.n_words
            found.append(
                f"{self.words.n_unknown:,} of {self.words.n_words:,} words ({share:.0f} %) are "
                "unknown to the model, and nothing was learned from them"
            )
        if self.n_unknown:
            found.append(
                f"instances of which no word is known, and next to nothing was learned: "
                f"{self.n_unknown:,}"
            )
        if self.mostly_unknown:
            found.append(
                "most words are unknown: an update adds no words, so train again on all data"
            )
        return found

    def _about_calibration(self) -> list[str]:
        if not self.calibration_lost:
            return []
        return ["the calibration held for the model as it was, and was discarded"]


def _listed(labels: tuple[str, ...], what: str) -> str:
    some = ", ".join(labels[:N_NAMES])
    more = f" and {len(labels) - N_NAMES:,} more" if len(labels) > N_NAMES else ""
    return f"{counted(len(labels), 'label')} {what}: {some}{more}"
