"""A tagger from the names of labels alone: by the words of names, and by what they mean."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from multitudes.data import Dataset
from multitudes.progress import say
from multitudes.tagger.costs.facts import EXTRAS
from multitudes.tagger.members import fused_tagger
from multitudes.tagger.presets import AUTO

if TYPE_CHECKING:
    from multitudes.tagger.tagger import Tagger

ENCODER = "dpr"  # of the models that compare texts with names, the plainest
WORDS, MEANING = "names", "encoder"
WEIGHTS = (2.0, 1.0)  # chosen on training texts of eurlex-titles and debian-debtags
MOST_ON_A_CPU = 20_000  # labels; these take a minute or two


def fit_to_names(tagger: Tagger, dataset: Dataset) -> Tagger:
    """Return a tagger that has learned the names of labels.

    A tagger for which nothing was chosen becomes two, where a text encoder is installed: one that
    finds the words of names (`Lexical`), and one that compares a text with each name as a whole.
    They are fused by rank, so that whatever labeled texts there are can tell how good that is.

    Parameters
    ----------
    tagger : Tagger
        Unfitted.
    dataset : Dataset
        Labels with names, and no instances.
    """
    from multitudes.tagger.tagger import Tagger

    takes_both = tagger.model == AUTO and not tagger.settings and tagger.features is None
    if not takes_both or not _is_worth_it(dataset.n_labels, tagger.device):
        return tagger.fit(dataset)
    shared: dict[str, Any] = {"random_state": tagger.random_state, "n_jobs": tagger.n_jobs}
    by_words = Tagger(AUTO, verbose=tagger.verbose, **shared).fit(dataset)
    by_meaning = Tagger(ENCODER, device=tagger.device, verbose=tagger.verbose, **shared)
    taggers = {WORDS: by_words, MEANING: by_meaning.fit(dataset)}
    both = fused_tagger(taggers, weights=WEIGHTS)
    both.choice_ = (
        f"words of names and {ENCODER}, fused, because there are names of labels and no texts"
    )
    return both


def _is_worth_it(n_labels: int, device: str | None) -> bool:
    """Whether an encoder is there, and reads the names in a minute or two."""
    modules = EXTRAS["deep"]
    if any(importlib.util.find_spec(module) is None for module in modules):
        return False
    if n_labels <= MOST_ON_A_CPU:
        return True
    from multitudes.deep.devices import choose_device

    if choose_device(device or "auto").type != "cpu":
        return True
    say(
        f"without a text encoder, which would take long to read {n_labels:,} names on this CPU: "
        f"--model {ENCODER} asks for it"
    )
    return False
