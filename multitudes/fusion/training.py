"""Train the members of an ensemble, and learn how to fuse them on what was held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitudes.config import Config, setting
from multitudes.data.label_lists import text_list
from multitudes.errors import ConfigError, DataError
from multitudes.fusion.choosing import FusionReport, HeldOut, learned_fusion
from multitudes.fusion.fusion import Fusion, checked_label_counts
from multitudes.fusion.lists import Lists
from multitudes.fusion.members import Given, Learning, Member, fitted_members
from multitudes.fusion.rank import RankFusion
from multitudes.progress import say
from multitudes.types import FloatArray, Sparse
from multitudes.validation import checked_features, checked_labels

SMALLEST_PART, LARGEST_SHARE = 1000, 0.3


@dataclass(frozen=True)
class HeldOutConfig(Config):
    """What is held out to learn a fusion from, and what becomes of it."""

    share: float = setting(
        0.1,
        "Share of the instances that members are not trained on at first; more, up to 0.3, where "
        "that would be less than 1,000 instances.",
        above=0,
        at_most=0.9,
    )
    at_most: int = setting(20_000, "Instances held out, at most.", at_least=1)
    refit: bool = setting(True, "Train the members again on everything afterwards.")

    def size(self, n: int) -> int:
        """Return how many of n instances are held out."""
        enough = min(SMALLEST_PART, int(LARGEST_SHARE * n))
        return min(self.at_most, max(int(self.share * n), enough))


class Fitting(NamedTuple):
    """How an ensemble is fitted: see the parameters of `Ensemble`."""

    fusion: str | Fusion
    candidates: int
    held_out: HeldOutConfig
    random_state: int
    n_jobs: int | None

    def learned(
        self, given: list[Given], data: Learning, counts: FloatArray
    ) -> tuple[list[Member], Fusion, FusionReport]:
        """Return fitted members, their fusion, and what it is worth."""
        n = data.Y.shape[0]
        if all(one.is_fitted for one in given):
            members = fitted_members(given, data, n_jobs=self.n_jobs)
            fusion, report = self._learn_fusion(members, data, counts, data)
            return members, fusion, report
        size = self.held_out.size(n)
        order = np.random.default_rng(self.random_state).permutation(n)
        aside, rest = np.sort(order[:size]), np.sort(order[size:])
        if not size or not data.Y[rest].nnz:
            rest = aside = np.arange(n)
        say(f"fusion: members are trained without {size:,} of {n:,} instances, held out for it")
        part = data.take(rest)
        members = fitted_members(given, part, n_jobs=self.n_jobs)
        if not size:
            fusion = RankFusion().untrained(len(given), data.Y.shape[1])
            return members, fusion, FusionReport("rank")
        held_out = data.take(aside)
        fusion, report = self._learn_fusion(members, held_out, counts_of(part.Y), data)
        if self.held_out.refit:
            say("fusion: members are trained again, on all instances")
            members = fitted_members(given, data, n_jobs=self.n_jobs)
        return members, fusion, report

    def _learn_fusion(
        self, members: list[Member], held_out: Learning, counts: FloatArray, data: Learning
    ) -> tuple[Fusion, FusionReport]:
        lists = lists_of(members, held_out.inputs, top_k=self.candidates, n_labels=data.Y.shape[1])
        texts = held_out.inputs if data.is_texts else None
        label_texts = data.label_texts if data.label_texts is not None else data.label_names
        return learned_fusion(
            self.fusion,
            HeldOut(lists, held_out.Y, counts, texts, label_texts),
            [member.name for member in members],
            random_state=self.random_state,
        )


def lists_of(members: Sequence[Member], inputs: Any, *, top_k: int, n_labels: int) -> Lists:
    """Return what members say about some instances, over the labels of the ensemble."""
    made = dict[int, Any]()
    return Lists([
        member.candidates(member.read(inputs, made), top_k=top_k, n_labels=n_labels)
        for member in members
    ])  # fmt: skip


def checked_learning(
    X: Any, y: Any, label_texts: Any, label_names: Any, *, is_texts: bool
) -> Learning:
    """Return what to learn from, checked."""
    inputs = checked_text_list(X) if is_texts else checked_features(X)
    Y = checked_labels(y, n_instances=n_rows(inputs))
    texts = _one_for_each(label_texts, Y.shape[1], "label_texts")
    names = _one_for_each(label_names, Y.shape[1], "label_names")
    return Learning(inputs, Y, texts, names, is_texts)


def known_counts(given: Sequence[Given], data: Learning, label_counts: Any) -> FloatArray:
    """Return how often labels were used in training, as far as that is known."""
    if any(not one.is_fitted for one in given):
        if label_counts is not None:
            raise ConfigError(
                "label_counts are for members that are all fitted: leave them out, the data "
                "is counted"
            )
        return counts_of(data.Y)
    found = checked_label_counts(label_counts, data.Y.shape[1])
    return np.zeros(data.Y.shape[1], np.float32) if found is None else found


def _one_for_each(given: Any, n_labels: int, name: str) -> list[str] | None:
    """Return a text for each label."""
    if given is None:
        return None
    found = text_list(given)
    if len(found) != n_labels:
        raise DataError(f"{name} must be one for each of {n_labels:,} labels, got {len(found):,}")
    return found


def checked_text_list(texts: Any) -> list[str]:
    """Return texts as a list; anything but str is refused, by its place."""
    found = text_list(texts)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise DataError(f"texts[{row}] must be a str, got {type(text).__name__}")
    return found


def counts_of(Y: Sparse) -> FloatArray:
    """Return how many instances have each label, float32 (n_labels,)."""
    return np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float32)


def n_rows(inputs: Any) -> int:
    """Return the number of texts, or of rows of X."""
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)
