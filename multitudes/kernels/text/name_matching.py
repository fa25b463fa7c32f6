"""Find the names, among a million, whose words a text has, and measure each match.

A name is a set of stems, rarest first. It matches a text that has at least a share of its stems,
by weight. It is listed under as few of its stems as will do: a text that misses all of these misses
too much of the name, so a text only looks at the lists of its own stems.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multitudes.kernels.arrays import Floats, Ints, Longs
from multitudes.kernels.compiling import borrowing, kernel

MOST_PLACES = 16  # of a stem in a text that are looked at for the closeness of a match
HEAD = np.float32(8.0)  # words from the start after which a match counts half as early

COVERAGE, FULL, EXACT, COUNT, EARLY, CLOSE, WEIGHT, SIZE, LONGEST, LENGTH, INSIDE = range(11)
N_MEASURES = 11
PART = -2  # in place of a word as written: the stem is inside a word


class Names(NamedTuple):
    """Names as sets of stems.

    `starts` int64 (n_names + 1,): name i has stems[starts[i] : starts[i + 1]], rarest first.
    `stems` int32 (n_entries,). `words` int32 (n_entries,): the word as written of each stem.
    `labels` int32 (n_names,). `weights` float32 (n_stems,), above 0. `listed_starts` int64
    (n_stems + 1,) and `listed` int32: the names that each stem leads to.
    """

    starts: Longs
    stems: Ints
    words: Ints
    labels: Ints
    weights: Floats
    listed_starts: Longs
    listed: Ints


class Scratch(NamedTuple):
    """What a thread writes while it matches; zeros at first. Rows are marked by row + 1.

    `stem_row`, `stem_count`, `stem_last`, `stem_longest`, `stem_whole` int32 (n_stems,);
    `word_row` int32 (n_words,); `name_row` int32 (n_names,); `label_row` int32 (n_labels,);
    `label_place` int64 (n_labels,); `before` int32 (longest text,): the place before each of the
    same stem, or -1.
    """

    stem_row: Ints
    stem_count: Ints
    stem_last: Ints
    stem_longest: Ints
    stem_whole: Ints
    word_row: Ints
    name_row: Ints
    label_row: Ints
    label_place: Longs
    before: Ints


@kernel
def count_listed(
    starts: Longs, stems: Ints, weights: Floats, coverage: float, counts: Longs, listed: Ints
) -> None:
    """List each name under the stems without which it cannot match.

    starts, stems, weights  IN     as in `Names`
    coverage                IN     float, least share of a name's weight that matches
    counts                  INOUT  int64 (n_stems + 1,): with an empty `listed`, the length of each
                                   list is added at stem + 1; else, where each list goes on
    listed                  OUT    int32, or empty
    """
    for name in range(starts.shape[0] - 1):
        total = np.float32(0.0)
        for i in range(starts[name], starts[name + 1]):
            total += weights[stems[i]]
        rest = total
        for i in range(starts[name], starts[name + 1]):
            # Rounding may not lose a match: the last stems may be listed once too often.
            if rest < coverage * total * 0.9999:
                break
            rest -= weights[stems[i]]
            if listed.shape[0] == 0:
                counts[stems[i] + 1] += 1
            else:
                listed[counts[stems[i]]] = name
                counts[stems[i]] += 1


@kernel
def match_names(
    indptr: Longs, stems: Ints, words: Ints, row: int, names: Names, coverage: float,
    scratch: Scratch, pairs: Ints, measures: Floats,
) -> tuple[int, int]:  # fmt: skip
    """Match the texts from `row` on; the best name of each label that has one.

    indptr    IN     int64 (n_rows + 1,)
    stems     IN     int32 (n_tokens,), ids of stems; -1 for those of no name
    words     IN     int32 (n_tokens,), ids of words as written; -1 for those of no name, PART for
                     stems inside words
    coverage  IN     float, as given to `count_listed`
    scratch   TMP    Scratch, zeros
    pairs     OUT    int32 (room, 3): row, label, name
    measures  OUT    float32 (room, N_MEASURES)

    Returns (row reached, pairs written); short of the end when a row does not fit.
    """
    n_out = 0
    while row < indptr.shape[0] - 1:
        first, last = indptr[row], indptr[row + 1]
        mark = row + 1
        _note_tokens(stems[first:last], words[first:last], mark, scratch)
        row_start = n_out
        for i in range(first, last):
            stem = stems[i]
            if stem < 0 or scratch.stem_last[stem] != i - first:
                continue  # each stem once, at its last place
            for j in range(names.listed_starts[stem], names.listed_starts[stem + 1]):
                name = names.listed[j]
                if scratch.name_row[name] == mark:
                    continue
                scratch.name_row[name] = mark
                shares = _shares(name, mark, names, scratch)
                if shares[0] < coverage:
                    continue
                label = names.labels[name]
                if scratch.label_row[label] != mark:
                    if n_out == pairs.shape[0]:
                        return row, row_start
                    scratch.label_row[label] = mark
                    scratch.label_place[label] = n_out
                    pairs[n_out, 0], pairs[n_out, 1] = row, label
                    pairs[n_out, 2] = -1
                    n_out += 1
                _keep_better(name, shares, scratch.label_place[label], pairs, measures)
        for place in range(row_start, n_out):
            _measure(pairs[place, 2], mark, last - first, names, scratch, measures[place])
        row += 1
    return row, n_out


@borrowing
def _note_tokens(stems: Ints, words: Ints, mark: int, scratch: Scratch) -> None:
    """Note which stems and words a text has, how often and where."""
    for i in range(stems.shape[0]):
        stem, word = stems[i], words[i]
        if word >= 0:
            scratch.word_row[word] = mark
        if stem < 0:
            continue
        if word != PART:
            scratch.stem_whole[stem] = mark
        if scratch.stem_row[stem] != mark:
            scratch.stem_row[stem] = mark
            scratch.stem_count[stem] = 0
            scratch.stem_longest[stem] = 0
            scratch.before[i] = -1
        else:
            scratch.before[i] = scratch.stem_last[stem]
        scratch.stem_count[stem] += 1
        scratch.stem_last[stem] = i


@borrowing
def _shares(
    name: int, mark: int, names: Names, scratch: Scratch
) -> tuple[np.float32, np.float32, np.float32]:
    """(share of the weight that the text has, share of the stems as written, weight it has).

    A name of which the text has every stem is noted as the longest around each of them.
    """
    total, found = np.float32(0.0), np.float32(0.0)
    n_found, n_exact = 0, 0
    start, stop = names.starts[name], names.starts[name + 1]
    for i in range(start, stop):
        stem = names.stems[i]
        total += names.weights[stem]
        if scratch.stem_row[stem] == mark:
            found += names.weights[stem]
            n_found += 1
            n_exact += scratch.word_row[names.words[i]] == mark
    if n_found == stop - start:
        for i in range(start, stop):
            stem = names.stems[i]
            scratch.stem_longest[stem] = max(scratch.stem_longest[stem], n_found)
        return np.float32(1.0), np.float32(n_exact / n_found), found
    return found / total, np.float32(n_exact / (stop - start)), found


@borrowing
def _keep_better(
    name: int, shares: tuple[float, float, float], place: int, pairs: Ints, measures: Floats
) -> None:
    """Keep the name of a label that is covered best, then as written, then by its weight."""
    old = measures[place]
    better = pairs[place, 2] < 0 or shares[0] > old[COVERAGE]
    if not better and shares[0] == old[COVERAGE]:
        better = shares[1] > old[EXACT] or (shares[1] == old[EXACT] and shares[2] > old[WEIGHT])
    if better:
        pairs[place, 2] = name
        old[COVERAGE], old[EXACT], old[WEIGHT] = shares


@borrowing
def _measure(
    name: int, mark: int, n_tokens: int, names: Names, scratch: Scratch, out: Floats
) -> None:
    """Fill in what is only needed of the best name of a label."""
    start, stop = names.starts[name], names.starts[name + 1]
    n_found, n_inside, least, earliest, longest = 0, 0, n_tokens, n_tokens, 1
    for i in range(start, stop):
        stem = names.stems[i]
        if scratch.stem_row[stem] != mark:
            continue
        n_found += 1
        n_inside += scratch.stem_whole[stem] != mark
        least = min(least, scratch.stem_count[stem])
        longest = max(longest, scratch.stem_longest[stem])
        place = scratch.stem_last[stem]
        while scratch.before[place] >= 0:
            place = scratch.before[place]
        earliest = min(earliest, place)
    out[FULL] = n_found == stop - start
    out[COUNT] = np.log1p(np.float32(least - 1))
    out[EARLY] = HEAD / (HEAD + earliest)
    out[CLOSE] = np.float32(n_found) / _least_span(start, stop, mark, names, scratch)
    out[SIZE] = np.log(np.float32(stop - start))
    out[LONGEST] = np.float32(n_found) / max(longest, n_found)
    out[INSIDE] = np.float32(n_inside) / n_found
    out[LENGTH] = np.log1p(np.float32(n_tokens))


@borrowing
def _least_span(start: int, stop: int, mark: int, names: Names, scratch: Scratch) -> np.int64:
    """Return the words from first to last of the closest match, around the rarest of its stems."""
    rarest = start
    while scratch.stem_row[names.stems[rarest]] != mark:
        rarest += 1
    center = scratch.stem_last[names.stems[rarest]]
    best = np.int64(2**31)
    for _ in range(MOST_PLACES):
        low, high = center, center
        for i in range(rarest + 1, stop):
            stem = names.stems[i]
            if scratch.stem_row[stem] != mark:
                continue
            place = _nearest(scratch.stem_last[stem], center, scratch.before)
            low, high = min(low, place), max(high, place)
        best = min(best, np.int64(high - low + 1))
        center = scratch.before[center]
        if center < 0:
            break
    return best


@borrowing
def _nearest(place: int, center: int, before: Ints) -> int:
    """Return the place of a stem that is nearest to `center`, going back from its last."""
    best = place
    for _ in range(MOST_PLACES):
        if abs(place - center) < abs(best - center):
            best = place
        if place < center:  # those before are farther
            break
        place = before[place]
        if place < 0:
            break
    return best


@kernel
def keep_best(rows: Ints, labels: Ints, scores: Floats, best: Ints, best_scores: Floats) -> None:
    """Sort the best labels of each row into its list, ties to the smaller id.

    rows         IN     int32 (n_pairs,)
    labels       IN     int32 (n_pairs,), each once in a row
    scores       IN     float32 (n_pairs,)
    best         INOUT  int32 (n_rows, top_k), -1 where there are no more
    best_scores  INOUT  float32 (n_rows, top_k), -inf beside -1
    """
    top_k = best.shape[1]
    for i in range(rows.shape[0]):
        row, label, score = rows[i], labels[i], scores[i]
        place = top_k
        while place > 0 and (
            score > best_scores[row, place - 1]
            or (score == best_scores[row, place - 1] and label < best[row, place - 1])
        ):
            place -= 1
            if place + 1 < top_k:
                best[row, place + 1] = best[row, place]
                best_scores[row, place + 1] = best_scores[row, place]
        if place < top_k:
            best[row, place] = label
            best_scores[row, place] = score
