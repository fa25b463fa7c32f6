"""What a notebook shows of a fitted tagger."""

from __future__ import annotations

from typing import Any

from multitudes import views

N_NAMES = 8  # labels that are named


def tagger_view(tagger: Any) -> str:
    """Return HTML: the model and why, its labels, what it reads, and what it can give.

    Parameters
    ----------
    tagger : fitted Tagger
    """
    names = tagger.classes_
    more = f", and {len(names) - N_NAMES:,} others" if len(names) > N_NAMES else ""
    kinds = ["scores"]
    if tagger.calibrated_ is not None:
        kinds.append("probabilities")
    if tagger.calibrated_ is not None or tagger.generates_sets:
        kinds.append("sets")
    rows = [
        ["model", f"{type(tagger.model_).__name__} ({tagger.choice_})"],
        ["reads", _reads(tagger)],
        [f"{len(names):,} labels", ", ".join(names[:N_NAMES]) + more],
        ["predicts", ", ".join(kinds)],
    ]
    if tagger.settings:
        listed = (f"{name}={value!r}" for name, value in tagger.settings.items())
        rows.append(["settings", ", ".join(listed)])
    if tagger.group_report_ is not None:
        rows.append(["learned from", "labels of groups"])
    shown = [[views.muted(name), value] for name, value in rows]
    return views.paragraph(views.bold("Tagger")) + views.table([], shown, left=2)


def _reads(tagger: Any) -> str:
    features = tagger.features_
    if features is None:
        return "texts, by itself"
    what = "texts" if tagger.takes_texts_ else "features X"
    n = getattr(features, "n_features_", None)
    size = "" if n is None else f", {n:,} features"
    return f"{what}, with {type(features).__name__}{size}"
