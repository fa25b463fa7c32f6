"""How long the texts are that an encoder reads: lengths by the data, and texts that are cut."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from multitudes.deep.texts.inputs import Texts
from multitudes.deep.texts.tokens import TokenRows
from multitudes.encoder.backbone.loading import LONGEST, longest_readable
from multitudes.encoder.backbone.model import AUTO, SHORTEST
from multitudes.errors import CutTextsWarning
from multitudes.progress import is_shown, say, spelled

if TYPE_CHECKING:
    from multitudes.encoder.backbone.model import Backbone

WORTH_A_WORD = 0.1  # share of texts that are cut
WORTH_A_WARNING = 0.5
SAMPLE = 1_000  # texts whose length is looked at
ENOUGH = 95  # percent of the texts that should be read whole
MOST = 512  # tokens; longer texts are for other encoders
STEP = 16  # lengths are rounded up to a multiple of this


def warn_of_cut_texts(backbone: Backbone, texts: Texts, n_cut: int) -> None:
    """Say how many texts are cut, and which length would read most of them whole.

    If nobody watches, it is a `CutTextsWarning` if most of the texts are cut.
    """
    share = n_cut / max(len(texts), 1)
    if share < (WORTH_A_WORD if is_shown() else WORTH_A_WARNING):
        return
    limit = backbone.max_length
    message = f"{n_cut:,} of {len(texts):,} texts are longer than {limit} tokens, and cut there"
    length = enough_for_most(backbone, texts)
    if length > limit:
        setting = spelled("backbone.max_length", length)
        message += f": {setting} reads more of them, about {length / limit:.1f} times as slowly"
    if is_shown():
        say(message, urgent=share >= WORTH_A_WARNING)
    else:
        warnings.warn(message, CutTextsWarning, stacklevel=4)


def follow_texts(backbone: Backbone, texts: Texts, label_texts: Texts) -> None:
    """Give a backbone the lengths that its settings leave to the data, and say what they are."""
    found = {
        name: max(enough_for_most(backbone, some, step=8, at_most=LONGEST), SHORTEST)
        if len(some)
        else LONGEST
        for name, some in (("max_length", texts), ("label_max_length", label_texts))
        if getattr(backbone.config, name) == AUTO
    }
    backbone.config = backbone.config.replaced(**found)
    why = f" ({ENOUGH} % of them have no more)" if found else ""
    say(
        f"texts of up to {backbone.max_length} tokens, labels of up to "
        f"{backbone.label_max_length}{why}"
    )


def enough_for_most(
    backbone: Backbone, texts: Texts, *, step: int = STEP, at_most: int = MOST
) -> int:
    """Return a length in tokens that most of a sample of texts do not exceed, if one is allowed."""
    longest = min(longest_readable(backbone.model, backbone.tokenizer) or at_most, at_most)
    if not len(texts):
        return step
    rows = np.unique(np.linspace(0, len(texts) - 1, min(SAMPLE, len(texts))).astype(np.int64))
    some = texts.take(rows) if isinstance(texts, TokenRows) else [texts[i] for i in rows.tolist()]
    lengths = backbone.tokenize(some, max_length=longest).rows.lengths
    most = float(np.percentile(lengths, ENOUGH))
    return min(step * math.ceil(most / step), longest)
