import itertools

import numpy as np
import pytest

from multitudes.kernels.text import name_matching as kernels

N_STEMS, N_WORDS, N_LABELS = 12, 20, 9


def problem(seed, *, n_names=30, n_rows=40):
    """Names, and texts over the same few stems; a word is its stem's, or the next one's."""
    rng = np.random.default_rng(seed)
    sets = [rng.choice(N_STEMS, rng.integers(1, 5), replace=False) for _ in range(n_names)]
    weights = rng.random(N_STEMS).astype(np.float32) + np.float32(0.2)
    sets = [sorted(some.tolist(), key=lambda stem: -weights[stem]) for some in sets]
    labels = rng.integers(0, N_LABELS, n_names).astype(np.int32)
    texts = [rng.integers(-1, N_STEMS, rng.integers(0, 15)).tolist() for _ in range(n_rows)]
    texts[0] = []
    # Some of what is written is a part of a word.
    written = [[word(stem, rng.random()) for stem in row] for row in texts]
    return sets, weights, labels, texts, written


def word(stem, chance):
    if stem < 0:
        return -1
    return kernels.PART if chance < 0.3 else stem + int(chance < 0.6)


def flat(rows):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return indptr, np.array(list(itertools.chain(*rows)), np.int32)


def names_of(sets, weights, labels, coverage):
    starts, stems = flat(sets)
    counts, none = np.zeros(N_STEMS + 1, np.int64), np.empty(0, np.int32)
    kernels.count_listed(starts, stems, weights, coverage, counts, none)
    listed_starts = np.cumsum(counts)
    listed = np.empty(listed_starts[-1], np.int32)
    kernels.count_listed(starts, stems, weights, coverage, listed_starts.copy(), listed)
    return kernels.Names(starts, stems, stems.copy(), labels, weights, listed_starts, listed)


def run(names, texts, written, coverage, *, room=2_000, row=0):
    indptr, stems = flat(texts)
    _, words = flat(written)
    sizes = (N_STEMS,) * 5 + (N_WORDS, len(names.labels), N_LABELS)
    arrays = [np.zeros(size, np.int32) for size in sizes]
    scratch = kernels.Scratch(*arrays, np.zeros(N_LABELS, np.int64), np.zeros(20, np.int32))
    pairs = np.empty((room, 3), np.int32)
    measures = np.full((room, kernels.N_MEASURES), np.nan, np.float32)
    row, n = kernels.match_names(
        indptr, stems, words, row, names, coverage, scratch, pairs, measures
    )
    return row, pairs[:n], measures[:n]


def twin(sets, weights, labels, text, written, coverage):
    """Label -> (name, coverage, exact share, weight) of its best name, by definition."""
    best = {}
    for name, stems in enumerate(sets):
        total = np.float32(0)
        found = np.float32(0)
        for stem in stems:
            total += weights[stem]
            found += weights[stem] if stem in text else np.float32(0)
        share = np.float32(1) if set(stems) <= set(text) else found / total
        if share < coverage or not found:
            continue
        exact = np.float32(sum(s in text and s in written for s in stems) / len(stems))
        value = (share, exact, found)
        if labels[name] not in best or value > best[labels[name]][1]:
            best[int(labels[name])] = (name, value)
    return best


def span_of(stems, text):
    """The closest match: every choice of places is tried."""
    places = [[i for i, stem in enumerate(text) if stem == one] for one in stems if one in text]
    return min(max(chosen) - min(chosen) + 1 for chosen in itertools.product(*places))


@pytest.mark.parametrize("coverage", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_matches_equal_their_twin(seed, coverage):
    sets, weights, labels, texts, written = problem(seed)
    names = names_of(sets, weights, labels, coverage)
    row, pairs, measures = run(names, texts, written, coverage)
    assert row == len(texts)
    for r, text in enumerate(texts):
        mine = pairs[:, 0] == r
        expected = twin(sets, weights, labels, text, written[r], coverage)
        assert sorted(pairs[mine, 1].tolist()) == sorted(expected)
        full = [set(stems) for stems in sets if set(stems) <= set(text)]
        for (_, label, name), found in zip(pairs[mine].tolist(), measures[mine], strict=True):
            _, value = expected[label]
            np.testing.assert_allclose(found[[0, 2, 6]], value, rtol=1e-6)
            stems = [stem for stem in sets[name] if stem in text]
            assert found[kernels.FULL] == (len(stems) == len(sets[name]))
            counts = min(text.count(stem) for stem in stems)
            assert found[kernels.COUNT] == pytest.approx(np.log(counts))
            first = min(text.index(stem) for stem in stems)
            assert found[kernels.EARLY] == pytest.approx(8 / (8 + first))
            longest = max([len(one) for one in full if one & set(stems)], default=1)
            assert found[kernels.LONGEST] == pytest.approx(len(stems) / max(longest, len(stems)))
            assert found[kernels.SIZE] == pytest.approx(np.log(len(sets[name])))
            assert found[kernels.LENGTH] == pytest.approx(np.log1p(len(text)))
            whole = {s for s, w in zip(text, written[r], strict=True) if w != kernels.PART}
            inside = sum(stem not in whole for stem in stems) / len(stems)
            assert found[kernels.INSIDE] == pytest.approx(inside)
            # Around the rarest stem, nearest places of the others: exact for two stems.
            close = len(stems) / span_of(stems, text)
            assert found[kernels.CLOSE] <= close + 1e-6
            assert len(stems) > 2 or found[kernels.CLOSE] == pytest.approx(close)


def test_a_row_that_does_not_fit_is_left_for_the_next_call():
    sets, weights, labels, texts, written = problem(2)
    names = names_of(sets, weights, labels, 0.3)
    _, pairs, measures = run(names, texts, written, 0.3)
    row, parts = 0, []
    while row < len(texts):
        before = row
        row, some, _ = run(names, texts, written, 0.3, room=N_LABELS, row=row)
        assert row > before
        parts.append(some)
    np.testing.assert_array_equal(np.concatenate(parts), pairs)
    assert np.isfinite(measures).all()


def test_every_name_is_listed_where_a_match_must_look():
    sets, weights, labels, _, _ = problem(3)
    names = names_of(sets, weights, labels, 0.5)
    listed = [set() for _ in sets]
    for stem in range(N_STEMS):
        for name in names.listed[names.listed_starts[stem] : names.listed_starts[stem + 1]]:
            listed[name].add(stem)
    for name, stems in enumerate(sets):
        total = sum(weights[stem] for stem in stems)
        missed = sum(weights[stem] for stem in stems if stem not in listed[name])
        assert missed < 0.5 * total
        assert listed[name] <= set(stems)


@pytest.mark.parametrize("top_k", [1, 3, 20])
def test_the_best_of_each_row_equal_their_twin(top_k):
    rng = np.random.default_rng(4)
    pairs = sorted({(row, label) for row, label in rng.integers(0, 12, (60, 2)).tolist()})
    rows, labels = np.array(pairs, np.int32).T.copy()
    shuffled = rng.permutation(len(rows))
    rows, labels = rows[shuffled], labels[shuffled]
    scores = rng.integers(0, 4, len(rows)).astype(np.float32)
    best, values = np.full((13, top_k), -1, np.int32), np.full((13, top_k), -np.inf, np.float32)
    kernels.keep_best(rows, labels, scores, best, values)
    for row in range(13):
        mine = rows == row
        expected = sorted(zip(-scores[mine], labels[mine], strict=True))
        kept = [(-v, label) for label, v in zip(best[row], values[row], strict=True) if label >= 0]
        assert kept == expected[:top_k]
