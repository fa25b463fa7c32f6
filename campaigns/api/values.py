"""Values for parameters, by kind: what is expected, and what else a user might give."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from campaigns.api import matrices
from campaigns.api.odd_types import mistyped, thing

N, F, L, G = 12, 8, 6, 4
"""Instances, features, labels and groups of everything here."""
NAMES = ("cat", "dog", "barn", "lake", "old", "small")
WORDS = (
    "", " ", "cat", "unknown", "a" * 2000, "日本", "\ud800", "\x00", "../x", "nan", "-1", "1",
    "None", "auto",
    "float16", "mean", "random", "micro", "names", "csv", "jsonl", "cuda", "cuda:99", "cpu",
    "bfloat16",
)  # fmt: skip
INTEGERS = (
    0, 1, 2, 3, 5, 6, 7, 100, -1, -2, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64,
    -(2**63), 10**30,
    True, np.int32(3), np.int64(2), np.uint8(1), np.float32(2), 1.0, 2.5,
)  # fmt: skip
FLOATS = (
    0.0, 0.5, 1.0, -1.0, 1e-9, 1e9, 1e300, -1e300, float("nan"), float("inf"), -float("inf"), 2, 0,
    np.float32(0.3), np.float64("nan"), np.float16(1),
)  # fmt: skip


def integer(rng: random.Random) -> Any:
    return thing(rng) if rng.random() < 0.3 else rng.choice(INTEGERS)


def number(rng: random.Random) -> Any:
    return integer(rng) if rng.random() < 0.4 else rng.choice(FLOATS)


def flag(rng: random.Random) -> Any:
    odd = mistyped(rng.choice((None, 0, 1, "yes", "", [], 2, np.array([True, False]))))
    return odd if rng.random() < 0.5 else rng.choice((True, False, np.bool_(True)))


def word(rng: random.Random) -> Any:
    return thing(rng) if rng.random() < 0.3 else rng.choice(WORDS)


def text(rng: random.Random) -> Any:
    """Return one text, or not quite."""
    others = (
        None,
        3,
        b"bytes",
        ["a"],
        float("nan"),
        np.str_("old dog"),
        "",
        "a " * 20_000,
        "x" * 50_000,
    )
    return rng.choice((*others, *WORDS))


def good_texts(rng: random.Random, n: int = N) -> list[str]:
    return [" ".join(rng.choices([*NAMES, "the", "a", "at"], k=4)) for _ in range(n)]


def texts(rng: random.Random) -> Any:
    """Return texts in an unusual container, with an unusual member, or something else."""
    listed: list[Any] = good_texts(rng)
    choice = rng.randrange(12)
    if choice <= 3:
        listed[rng.randrange(len(listed))] = text(rng)
        return listed
    if choice == 4:
        return listed[: rng.choice((0, 1, 3))]
    if choice == 5:
        return rng.choice((np.array(listed), np.array(listed, object), tuple(listed), iter(listed)))
    if choice == 6:
        return _series(listed)
    if choice == 7:
        return rng.choice(("one text", [listed], [[]], dict.fromkeys(listed), listed * 3))
    if choice == 8:
        return matrices.odd(rng, (N, F))
    if choice == 9:
        return [*listed, listed[0]]
    return thing(rng)


def _series(values: list[Any]) -> Any:
    import pandas as pd

    return pd.Series(values)


def good_label_lists(rng: random.Random, n: int = N) -> list[list[str]]:
    return [rng.sample(NAMES, rng.randint(1, 3)) for _ in range(n)]


def label_lists(rng: random.Random) -> Any:
    """Return labels of instances: lists of names, and what else there is."""
    rows: list[Any] = good_label_lists(rng)
    choice = rng.randrange(10)
    if choice <= 3:
        odd: tuple[Any, ...] = ([], [None], "cat", None, [1], [""], ["cat", "cat"], [["cat"]],
               5, [2.5], ("cat",), {"cat"}, ["\ud800"], [np.str_("cat")],
               np.array(["cat"]), [float("nan")], [True])  # fmt: skip
        rows[rng.randrange(len(rows))] = rng.choice(odd)
        return rows
    if choice == 4:
        return rng.choice(
            (rows[:-1], [], rows * 2, tuple(rows), iter(rows), np.array(rows, object))
        )
    if choice == 5:
        return matrices.odd(rng, (N, L), binary=True)
    if choice == 6:
        return [row[0] for row in rows]
    if choice == 7:
        return [[rng.randrange(L)] for _ in rows]
    if choice == 8:
        return _series(rows)
    return thing(rng)


def names(rng: random.Random) -> Any:
    """Return names of labels, or not quite."""
    listed: list[Any] = list(NAMES)
    choice = rng.randrange(6)
    if choice <= 1:
        listed[rng.randrange(len(listed))] = rng.choice(
            ("", None, "cat", 3, "\ud800", b"x", ["a"], "new")
        )
        return listed
    if choice == 2:
        return rng.choice(
            (listed[:2], [*listed, "new"], tuple(listed), np.array(listed), [], listed * 2)
        )
    if choice == 3:
        return rng.choice(
            (dict.fromkeys(NAMES, "a text"), {"new": "x"}, dict.fromkeys(NAMES, 3), "cat")
        )
    return thing(rng)


def ids(rng: random.Random) -> Any:
    """Return ids, or not quite."""
    choices: Sequence[Any] = (
        [0], [0, 1], [L - 1, 0], [], [L], [-1], [0, 0], [2**31], [2**63], [0.5], ["cat"], [None],
        [[0, 1]], 0, L,
        np.array([1, 2]), np.array([1.0, 2.0]), np.array([True] * L), np.array([], int),
        np.array([2**40]),
        range(3), (0, 2), {0}, np.array([[0], [1]]), np.array([0, np.nan]), list(range(L)),
        slice(0, 2),
        [10**30], np.array([0, 1], object), np.array(["0"]), [True, False], np.uint64([2**63]),
    )  # fmt: skip
    return thing(rng) if rng.random() < 0.2 else rng.choice(choices)


def array(rng: random.Random, n: int) -> Any:
    """Return numbers, one for each of `n`, or not quite."""
    numbers = np.random.default_rng(rng.getrandbits(63)).random(n)
    choice = rng.randrange(8)
    if choice <= 2 and n:
        numbers[rng.randrange(n)] = rng.choice(matrices.VALUES)
        return numbers
    if choice == 3:
        return numbers[: rng.choice((0, 1, n - 1))]
    if choice == 4:
        return numbers[:, None]
    if choice == 5:
        return numbers.astype(rng.choice(matrices.DTYPES[:-1]))
    if choice == 6:
        return rng.choice(
            (numbers.tolist(), [*numbers.tolist(), 1], numbers[::-1], ["a"] * n, [None] * n)
        )
    return thing(rng)


def pairs(rng: random.Random) -> Any:
    """Return (row, label) pairs, or not quite."""
    good = np.array([[0, 1], [2, 3], [N - 1, L - 1]])
    choice = rng.randrange(7)
    if choice <= 2:
        good[rng.randrange(3), rng.randrange(2)] = rng.choice(matrices.INDICES)
        return good
    if choice == 3:
        return rng.choice(
            (good.tolist(), good.T, good.ravel(), good[:0], [], [(0, 1)], [[0]], good[None])
        )
    if choice == 4:
        return good.astype(rng.choice(matrices.DTYPES[:-1]))
    if choice == 5:
        return matrices.odd(rng, (N, L), binary=True)
    return thing(rng)


def good_predictions(rng: random.Random) -> Any:
    from multitudes.types import Predictions

    labels = np.array([rng.sample(range(L), 4) for _ in range(N)], np.int32)
    scores = np.sort(np.random.default_rng(rng.getrandbits(63)).random((N, 4)), axis=1)[:, ::-1]
    return Predictions(labels, np.ascontiguousarray(scores, np.float32), L)


def predictions(rng: random.Random) -> Any:
    """Return predictions with odd arrays, or in another form."""
    from multitudes.types import Predictions

    found = good_predictions(rng)
    labels, scores, n_labels = found.labels.copy(), found.scores.copy(), L
    choice = rng.randrange(12)
    at = rng.randrange(N), rng.randrange(4)
    if choice <= 1:
        labels[at] = rng.choice((-1, -2, L, 10**6, 2**31 - 1, labels[at[0], 0]))
    elif choice == 2:
        scores[at] = rng.choice(matrices.VALUES[:8])
    elif choice == 3:
        n_labels = rng.choice((0, 1, -1, 3, 2**31, 10**12))
    elif choice == 4:
        labels = labels.astype(rng.choice(("i8", "u4", "f4", "i1", "O", "U2")))
    elif choice == 5:
        scores = scores.astype(rng.choice(("f8", "f2", "i4", "O", "c8", "?")))
    elif choice == 6:
        labels, scores = labels[:, ::-1], np.asfortranarray(scores)
    elif choice == 7:
        cut = rng.choice((0, 1, N - 1))
        labels, scores = labels[:cut], scores[:cut]
    elif choice == 8:
        labels, scores = labels[:, :0], scores[:, :0]
    elif choice == 9:
        return matrices.odd(rng, (N, L))
    elif choice == 10:
        return rng.choice(
            (labels, labels.tolist(), [[0], [1]], [[(0, 0.5)]], (labels, scores), [[]] * N)
        )
    else:
        return thing(rng)
    return Predictions(labels, scores, n_labels)


def our_predictions(rng: random.Random) -> Any:
    """Return `Predictions` with odd arrays; anything else is of a wrong type."""
    from multitudes.types import Predictions

    found = predictions(rng)
    return found if isinstance(found, Predictions) else mistyped(found)


def path(rng: random.Random) -> Any:
    """Return a path: none, a folder, a name that cannot be, or something else."""
    others: Sequence[Any] = (
        "nowhere", ".", "", "\x00", "a" * 300, Path("nowhere/x"), "/dev/null", "/proc/self/mem",
        "\ud800", "nowhere.jsonl", "a\nb", "~", "here.jsonl",
    )  # fmt: skip
    return thing(rng) if rng.random() < 0.2 else rng.choice(others)
