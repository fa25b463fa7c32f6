"""Kernels of fusion: several ranked lists of one instance made one.

The lists of all members lie side by side in a row, so that a place is a column. Labels of a row are
few and label spaces are large: a label is found again through a table of the row's own size, not
through one of all labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitudes.kernels.arrays import Bools, Bytes, Floats, Ints, Longs, UInts
from multitudes.kernels.compiling import allocating, borrowing, kernel
from multitudes.kernels.search.beam_search import insert

SPREAD = np.uint32(2654435769)  # 2^32 over the golden ratio: neighbors end up far apart


def table_size(width: int) -> int:
    """Return how many slots the table of a row with `width` places needs: a power of two."""
    return 1 << max(2, (2 * width - 1).bit_length())


@borrowing
def slot_of(label: int, keys: Ints) -> Any:
    """The slot of the table that holds a label, or that is free for it (-1)."""
    mask = np.uint32(keys.size - 1)
    at = (np.uint32(label) * SPREAD >> np.uint32(7)) & mask
    while keys[at] >= 0 and keys[at] != label:
        at = (at + np.uint32(1)) & mask
    return at


@allocating
def sum_lists(
    labels: Ints,  # IN (n, width): lists of all members side by side; -1 where there is none
    values: Floats,  # IN (n, width), or (1, width) if a place is worth the same in every row
    member: Ints,  # IN (width,): whose list a column belongs to
    weights: Floats,  # IN (n_bins, n_members)
    bin_of: Bytes,  # IN (n_labels,): the bin of a label
    base: Floats,  # IN (n_bins,): what every label of a bin starts from
    keys: Ints,  # TMP (table_size(width),): all -1, and -1 again afterwards
    places: Ints,  # TMP (table_size(width),)
    out_labels: Ints,  # OUT (n, top_k): -1 where there are no more
    out_scores: Floats,  # OUT (n, top_k): -inf beside -1
) -> None:
    """Rank labels by the weighted sum of what their places are worth."""
    n, width = labels.shape
    found = np.empty(width, np.int32)
    used = np.empty(width, np.int32)
    total = np.empty(width, np.float32)
    for i in range(n):
        row = i if values.shape[0] > 1 else 0
        n_found = 0
        for j in range(width):
            label = labels[i, j]
            if label < 0:
                continue
            at = slot_of(label, keys)
            if keys[at] < 0:
                keys[at] = label
                places[at] = n_found
                found[n_found] = label
                used[n_found] = at
                total[n_found] = base[bin_of[label]]
                n_found += 1
            total[places[at]] += weights[bin_of[label], member[j]] * values[row, j]
        count = 0
        for p in range(n_found):
            keys[used[p]] = -1
            count = insert(out_labels[i], out_scores[i], count, found[p], total[p])
        for p in range(count, out_labels.shape[1]):
            out_labels[i, p] = -1
            out_scores[i, p] = -np.inf


class NameWords(NamedTuple):
    """Texts, and the parts of words that label names are made of."""

    text_starts: Longs  # IN (n + 1,): characters of each text
    codes: UInts  # IN (n_characters,)
    name_starts: Longs  # IN (n_labels + 1,)
    parts: UInts  # IN (n_parts,): of the names, each once in a name
    shares: Floats  # IN (n_parts,): what each is of its name; they add up to 1


NO_WORDS = NameWords(
    np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(0, np.uint32),
    np.zeros(0, np.float32),
)  # fmt: skip

PART = 4
"""Characters of a part of a word; a shorter word is one part."""

OF_LABEL, OF_MEMBER = 8, 4
"""Numbers that describe a candidate, and those of each member about it."""


@borrowing
def in_word(code: int) -> bool:
    """Whether a character belongs to a word; beyond ASCII all do but spaces and punctuation."""
    if code < 128:
        return 48 <= code <= 57 or 65 <= code <= 90 or 97 <= code <= 122
    return code >= 0xC0 and not 0x2000 <= code <= 0x206F and not 0x3000 <= code <= 0x303F


@borrowing
def part_ending_at(codes: UInts, at: int, begin: int, end: int) -> Any:
    """The part of a word that ends at a character, as a number > 0; 0 if none does."""
    if not in_word(codes[at]):
        return np.uint32(0)
    is_last = at + 1 == end or not in_word(codes[at + 1])
    number = np.uint32(1)
    length = 0
    while length < PART and at - length >= begin and in_word(codes[at - length]):
        number = (number + codes[at - length]) * SPREAD
        length += 1
    if length < PART and not is_last:
        return np.uint32(0)
    return number | np.uint32(1)


@kernel
def parts_of_names(
    starts: Longs,  # IN (n + 1,): characters of each name
    codes: UInts,  # IN (n_characters,)
    parts: UInts,  # OUT (n_characters,)
    owner: Longs,  # OUT (n_characters,): the name of each part
) -> int:
    """Write the parts of all names, repeated ones too; return how many there are."""
    count = 0
    for i in range(starts.size - 1):
        for at in range(starts[i], starts[i + 1]):
            part = part_ending_at(codes, at, starts[i], starts[i + 1])
            if part != 0:
                parts[count] = part
                owner[count] = i
                count += 1
    return count


@borrowing
def note_parts(words: NameWords, i: int, seen: UInts) -> Any:
    """Put the parts of a text into OUT seen, a table of 0; return its mask for this text."""
    begin, end = words.text_starts[i], words.text_starts[i + 1]
    size = 4
    while size < 2 * (end - begin):
        size *= 2
    mask = np.uint32(size - 1)
    for at in range(begin, end):
        part = part_ending_at(words.codes, at, begin, end)
        if part != 0:
            slot = (part >> np.uint32(1)) & mask
            while seen[slot] != 0 and seen[slot] != part:
                slot = (slot + np.uint32(1)) & mask
            seen[slot] = part
    return mask


@borrowing
def share_in_text(words: NameWords, label: int, seen: UInts, mask: Any) -> Any:
    """How much of a label's name the parts of words of a text cover, from 0 to 1."""
    covered = np.float32(0)
    for t in range(words.name_starts[label], words.name_starts[label + 1]):
        part = words.parts[t]
        slot = (part >> np.uint32(1)) & mask
        while seen[slot] != 0 and seen[slot] != part:
            slot = (slot + np.uint32(1)) & mask
        if seen[slot] == part:
            covered += words.shares[t]
    return covered


@borrowing
def describe(
    scores: Floats, worth: Floats, first: Longs, place: Ints, about: Floats, counts: Ints
) -> None:
    """What members say about a candidate of an instance, in OUT about, as `describe_candidates`.

    IN scores, worth (width,); first (n_members + 1,): columns of each member; place (n_members,):
    column in which a member lists the candidate, or -1; counts (n_members,): labels it lists.
    """
    listed = 0
    for m in range(place.size):
        at = OF_LABEL + OF_MEMBER * m
        if place[m] < 0:
            about[at] = np.nan
            about[at + 1] = 0.0
            about[at + 2] = np.nan
            about[at + 3] = np.nan
            continue
        listed += 1
        score = scores[place[m]]
        about[at] = score
        about[at + 1] = worth[place[m]]
        about[at + 2] = scores[first[m]] - score
        about[at + 3] = score - scores[first[m] + counts[m] - 1]
    about[1] = listed


@allocating
def describe_candidates(
    labels: Ints,  # IN (n, width): lists of all members side by side; -1 where there is none
    scores: Floats,  # IN (n, width): finite beside labels
    worth: Floats,  # IN (width,): of a place, by its rank
    first: Longs,  # IN (n_members + 1,): where the columns of each member begin
    log_counts: Floats,  # IN (n_labels,): of a label's uses in training
    words: NameWords,  # IN: without words if it has no rows
    keys: Ints,  # TMP (table_size(width),): all -1, and -1 again afterwards
    places: Ints,  # TMP (table_size(width),)
    seen: UInts,  # TMP (table_size(characters of the longest text),): all 0, and 0 again afterwards
    found: Ints,  # OUT (n, n_candidates): labels with the largest sums of worth; -1 for none
    about: Floats,  # OUT (n, n_candidates, OF_LABEL + OF_MEMBER * n_members)
) -> None:
    """Describe the candidates of each instance, best first by rank fusion.

    Of a candidate: the logarithm of its uses, members that list it, its sum of worth, how far that
    is behind the best, its rank by it, the share of its name that the text has, parts of its name,
    characters of the text (logarithm). Of each member: score, worth, margin to its best, margin to
    its last; NaN where it does not list the label.
    """
    n, width = labels.shape
    n_members, n_candidates = first.size - 1, found.shape[1]
    has_words = words.text_starts.size > 1
    all_labels, used = np.empty(width, np.int32), np.empty(width, np.int32)
    total = np.empty(width, np.float32)
    place = np.empty((width, n_members), np.int32)
    counts = np.empty(n_members, np.int32)
    best, best_total = np.empty(n_candidates, np.int32), np.empty(n_candidates, np.float32)
    for i in range(n):
        n_found = 0
        for m in range(n_members):
            counts[m] = 0
            for j in range(first[m], first[m + 1]):
                label = labels[i, j]
                if label < 0:
                    continue
                counts[m] += 1
                at = slot_of(label, keys)
                if keys[at] < 0:
                    keys[at] = label
                    places[at] = n_found
                    all_labels[n_found] = label
                    used[n_found] = at
                    total[n_found] = 0.0
                    for other in range(n_members):
                        place[n_found, other] = -1
                    n_found += 1
                p = places[at]
                if place[p, m] < 0:
                    place[p, m] = j
                    total[p] += worth[j]
        count = 0
        for p in range(n_found):
            count = insert(best, best_total, count, all_labels[p], total[p])
        mask = note_parts(words, i, seen) if has_words else np.uint32(0)
        for c in range(count):
            label = best[c]
            p = places[slot_of(label, keys)]
            row = about[i, c]
            describe(scores[i], worth, first, place[p], row, counts)
            row[0] = log_counts[label]
            row[2] = best_total[c]
            row[3] = best_total[0] - best_total[c]
            row[4] = c
            row[5] = row[6] = row[7] = 0.0
            if has_words:
                row[5] = share_in_text(words, label, seen, mask)
                row[6] = words.name_starts[label + 1] - words.name_starts[label]
                row[7] = np.log1p(np.float32(words.text_starts[i + 1] - words.text_starts[i]))
            found[i, c] = label
        if has_words:
            seen[: mask + 1] = 0
        for p in range(n_found):
            keys[used[p]] = -1
        for c in range(count, n_candidates):
            found[i, c] = -1


TIES = np.float32(1e-3)
"""What the sum of worth adds to log-odds: enough to tell candidates of the same leaves apart."""


class Trees(NamedTuple):
    """Binary trees over a candidate's description; children come after their parents."""

    roots: Ints  # IN (n_trees,)
    feature: Ints  # IN (n_nodes,): -1 at a leaf
    threshold: Floats  # IN (n_nodes,): up to it, left
    missing_left: Bools  # IN (n_nodes,): where NaN goes
    left: Ints  # IN (n_nodes,)
    right: Ints  # IN (n_nodes,)
    value: Floats  # IN (n_nodes,): of a leaf


@kernel
def score_by_trees(
    found: Ints,  # IN (n, n_candidates): -1 where there is none
    about: Floats,  # IN (n, n_candidates, n_numbers)
    trees: Trees,  # IN
    bias: float,  # IN
    scores: Floats,  # OUT (n, n_candidates): sums over the trees; -inf beside -1
) -> None:
    """Score candidates by the sum of the leaves that they fall into.

    Many fall into the same leaves: of these, the one with the larger sum of worth comes first.
    """
    n, n_candidates = found.shape
    for i in range(n):
        for c in range(n_candidates):
            scores[i, c] = bias + TIES * about[i, c, 2] if found[i, c] >= 0 else -np.inf
        for root in trees.roots:
            for c in range(n_candidates):
                if found[i, c] < 0:
                    break
                node = root
                while trees.feature[node] >= 0:
                    number = about[i, c, trees.feature[node]]
                    goes_left = number <= trees.threshold[node]
                    if np.isnan(number):
                        goes_left = trees.missing_left[node]
                    node = trees.left[node] if goes_left else trees.right[node]
                scores[i, c] += trees.value[node]


@kernel
def rank_candidates(
    found: Ints,  # IN (n, n_candidates): -1 where there is none, at the end
    scores: Floats,  # IN (n, n_candidates)
    out_labels: Ints,  # OUT (n, top_k): -1 where there are no more
    out_scores: Floats,  # OUT (n, top_k): -inf beside -1
) -> None:
    """Put candidates in the order of their scores, equal ones by label id."""
    for i in range(found.shape[0]):
        count = 0
        for c in range(found.shape[1]):
            if found[i, c] >= 0:
                count = insert(out_labels[i], out_scores[i], count, found[i, c], scores[i, c])
        for p in range(count, out_labels.shape[1]):
            out_labels[i, p] = -1
            out_scores[i, p] = -np.inf
