"""Train once more on all data, with what was chosen on a part that was held out."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from multitudes.data import Dataset
from multitudes.progress import say
from multitudes.scikit_learn import clone

if TYPE_CHECKING:
    from multitudes.tagger.tagger import Tagger

EPOCHS, PATIENCE = "training.epochs", "training.patience"


def refit(
    tagger: Tagger,
    dataset: Dataset,
    *,
    from_groups: bool | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> Tagger:
    """Return a new tagger, trained on all of a Dataset as `tagger` was on a part of it.

    A model trained in epochs gets as many as were best for `tagger`. Probabilities and sets are
    taken over as they are: they were learned from what `tagger` said about instances it had not
    seen, and there are none left to learn them again.

    Parameters
    ----------
    tagger : Tagger
        Fitted with `validation`, and calibrated or not.
    dataset : Dataset
        Over the same labels.
    from_groups, checkpoint
        As for `Tagger.fit`; the checkpoint must not be that of `tagger`'s own training.
    """
    settings = {n: value for n, value in (tagger.settings or {}).items() if n != PATIENCE}
    best = getattr(getattr(tagger.model_, "history_", None), "best", None)
    how = ""
    if best is not None:
        settings[EPOCHS] = best.epoch + 1
        how = f", for {best.epoch + 1} epochs, the best number on what was held out"
    say(f"training again on all data{how}")
    again: Tagger = clone(tagger).set_params(settings=settings)
    again.fit(dataset, from_groups=from_groups, checkpoint=checkpoint)
    again.calibrated_ = tagger.calibrated_
    return again
