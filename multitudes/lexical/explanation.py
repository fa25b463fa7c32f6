"""Why a label was found: which words of the text matched which of its names."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from multitudes import views
from multitudes.features.text_buffer import TOKEN_PATTERN
from multitudes.lexical.evidence import EVIDENCE, LabelEvidence, MatchWeights, evidence_of
from multitudes.lexical.index import NameIndex
from multitudes.lexical.reading import Tokens

NO_MATCH = "no name of the label has enough of its words in the text"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a text got a label: the name that matches best, and the words of the text that do.

    Parameters
    ----------
    label : int or str
        Its id, or its name.
    score : float
        The probability that the match is right; 0 if no name matches.
    name : str
        The name that matches best; "" if none does.
    words : tuple of str
        The words of the text that are words of the name, in the order of the text, each once.
    missing : int
        Words of the name that the text lacks.
    evidence : dict of str to float
        What each of `multitudes.lexical.EVIDENCE` adds to the log-odds of the score, beside those
        of "start".
    note : str
        A remark for who reads it; mostly empty.
    """

    label: int | str
    score: float
    name: str
    words: tuple[str, ...]
    missing: int
    evidence: dict[str, float]
    note: str = ""

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        lines = [views.paragraph(views.bold(self._label()), f"score {self.score:.4f}")]
        if self.name:
            lines.append(views.paragraph("name:", views.bold(self.name), self._found()))
            lines.append(views.paragraph("worth:", views.weighted_words(self._strongest(8))))
        if self.note:
            lines.append(views.paragraph(views.muted(self.note)))
        return "".join(lines)

    def named(self, label: str | None, texts: Mapping[int, str] | None = None) -> Explanation:
        """The same with the name of the label; None keeps its id."""
        return dataclasses.replace(self, label=self.label if label is None else label)

    def table(self, *, top: int = 8) -> str:
        """A line for the name and its words, and one for the `top` weightiest of the evidence."""
        lines = [f"{self._label()}: score {self.score:.4f}"]
        if self.name:
            worth = ", ".join(f"{name} {value:+.2f}" for name, value in self._strongest(top))
            lines += [f'  name "{self.name}": {self._found()}', f"  {worth}"]
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return found | {"words": list(self.words)}

    def _label(self) -> str:
        return self.label if isinstance(self.label, str) else f"label {self.label}"

    def _found(self) -> str:
        missing = f"; {self.missing} of its words missing" if self.missing else ""
        return f"{', '.join(self.words)}{missing}"

    def _strongest(self, top: int) -> list[tuple[str, float]]:
        ranked = sorted(self.evidence.items(), key=lambda one: -abs(one[1]))
        return [(name, value) for name, value in ranked[:top] if value]


def explained(
    index: NameIndex,
    weights: MatchWeights,
    of_labels: LabelEvidence,
    text: str,
    tokens: Tokens,
    label: int,
) -> Explanation:
    """Explain the match of one text (`tokens` are its words) and one label."""
    found = index.match(tokens)
    mine = np.flatnonzero(found.labels == label)
    if not len(mine):
        return Explanation(label, 0.0, "", (), 0, {}, NO_MATCH)
    found = found.take(mine)
    evidence = evidence_of(index, found, of_labels)
    entry, entries = int(found.names[0]), index.entries
    stems = entries.stems[entries.starts[entry] : entries.starts[entry + 1]]
    written = re.findall(TOKEN_PATTERN, text)
    places = np.flatnonzero(np.isin(tokens.stems, stems)).tolist()
    # Composing letters can change where words end; then the stems themselves are shown.
    aligned = len(written) == len(np.unique(tokens.places))
    words = [
        written[tokens.places[place]] if aligned else index.stems.names[tokens.stems[place]]
        for place in places
    ]
    parts = {
        name: float(v) for name, v in zip(EVIDENCE, evidence[0] * weights.weights, strict=True)
    }
    return Explanation(
        label,
        float(weights.probabilities(evidence)[0]),
        index.names[int(entries.sources[entry])],
        tuple(dict.fromkeys(words)),
        len(stems) - len(np.intersect1d(stems, tokens.stems)),
        {"start": weights.bias, **parts},
    )
