"""The paper's theorems, and what the cap promises, on generated problems."""

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from multitudes.disentangle import (
    assign,
    linear_bound,
    match_counts,
    random_assignment,
    tp_bound,
)

few_examples = settings(max_examples=150, deadline=None)


@st.composite
def matched(draw, *, max_labels=8, max_clusters=5):
    """Y, matches and some partition, dense 0/1; instances and labels may be empty."""
    n = draw(st.integers(1, 10))
    n_labels = draw(st.integers(1, max_labels))
    n_clusters = draw(st.integers(1, max_clusters))
    bits = st.integers(0, 1)
    Y = draw(arrays.arrays(np.int64, (n, n_labels), elements=bits))
    matches = draw(arrays.arrays(np.int64, (n, n_clusters), elements=bits))
    home = draw(arrays.arrays(np.int64, n_labels, elements=st.integers(0, n_clusters - 1)))
    return Y, matches, np.eye(n_clusters, dtype=np.int64)[home]


def sparse(*dense):
    return [sp.csr_array(matrix.astype(np.float32)) for matrix in dense]


def largest_linear_bound(counts, overlap):
    """Eq. 9 by trying, for each label by itself, every set of clusters it may have."""
    total = 0
    for row in counts.tolist():
        sets = [s for size in range(1, overlap + 1) for s in combinations(row, size)]
        total += max(map(sum, sets))
    return total


@few_examples
@given(matched(), st.data())
def test_bounds_equal_the_dense_traces(problem, data):
    Y, matches, _ = problem
    shape = (Y.shape[1], matches.shape[1])
    assignment = data.draw(arrays.arrays(np.int64, shape, elements=st.integers(0, 1)))
    candidates = matches @ assignment.T
    found = sparse(Y, matches, assignment)
    assert tp_bound(*found) == np.trace(Y.T @ (candidates > 0))
    assert linear_bound(*found) == np.trace(Y.T @ candidates)


@few_examples
@given(matched(max_labels=1), st.data())
def test_theorem_1_what_a_label_reaches_is_what_its_clusters_cover(problem, data):
    """The reduction of set cover: one label of all instances, a cluster for each set."""
    matches = problem[1]
    chosen = data.draw(arrays.arrays(np.int64, matches.shape[1], elements=st.integers(0, 1)))
    covered = set().union(*(np.flatnonzero(matches[:, c]) for c in np.flatnonzero(chosen)))
    everywhere = np.ones((matches.shape[0], 1), np.int64)
    assert tp_bound(*sparse(everywhere, matches, chosen[None])) == len(covered)


@few_examples
@given(matched(max_labels=6), st.data())
def test_theorem_2_top_counts_attain_the_optimum_of_the_linear_bound(problem, data):
    overlap = data.draw(st.integers(1, problem[1].shape[1]))
    Y, matches, current = sparse(*problem)
    counts = match_counts(Y, matches)
    best = assign(counts, current, overlap=overlap)
    expected = largest_linear_bound(problem[0].T @ problem[1], overlap)
    assert linear_bound(Y, matches, best) == expected


@few_examples
@given(matched(), st.data())
def test_theorem_3_no_partition_reaches_more_positives(problem, data):
    """The paper writes >, its proof gives >=.

    Equality is possible: no count at all, or a partition that is the best already while further
    copies reach only what is reached. No condition is needed. A label in one cluster is reached by
    as many positives as it counts there, which is at most its largest count, and the cluster of
    the largest count is among its clusters whatever the overlap; a label without counts is reached
    nowhere.
    """
    overlap = data.draw(st.integers(1, problem[1].shape[1]))
    Y, matches, any_partition = sparse(*problem)
    start = sparse(np.roll(problem[2], 1, axis=1))[0]  # where labels come from does not matter
    best = assign(match_counts(Y, matches), start, overlap=overlap)
    assert tp_bound(Y, matches, best) >= tp_bound(Y, matches, any_partition)


@few_examples
@given(matched(), st.data())
def test_more_overlap_reaches_no_less(problem, data):
    most = problem[1].shape[1]
    overlap = data.draw(st.integers(1, most))
    Y, matches, current = sparse(*problem)
    counts = match_counts(Y, matches)
    fewer, more = (assign(counts, current, overlap=n) for n in (overlap, min(overlap + 1, most)))
    assert tp_bound(Y, matches, more) >= tp_bound(Y, matches, fewer)


@few_examples
@given(matched(max_labels=14), st.data())
def test_the_cap_holds_and_every_label_is_placed(problem, data):
    """Whatever the sizes of the present clusters, counts or not."""
    n_labels, n_clusters = problem[2].shape
    overlap = data.draw(st.integers(1, n_clusters))
    cap = data.draw(st.integers(-(-n_labels // n_clusters), n_labels))
    Y, matches, current = sparse(*problem)
    found = assign(match_counts(Y, matches), current, overlap=overlap, max_cluster_size=cap)
    copies = np.diff(found.indptr)
    assert copies.min() >= 1
    assert copies.max() <= overlap
    assert found.sum(axis=0).max() <= cap
    placed = random_assignment(current, found, random_state=0, max_cluster_size=cap)
    assert placed.sum(axis=0).max() <= cap
    assert np.all(np.diff(placed.indptr) >= 1)
    assert np.all(np.diff(placed.indptr) <= copies)


@few_examples
@given(matched(max_labels=14), st.data())
def test_under_a_cap_labels_live_where_they_count_or_where_they_come_from(problem, data):
    n_labels, n_clusters = problem[2].shape
    overlap = data.draw(st.integers(1, n_clusters))
    cap = data.draw(st.integers(1, n_labels))
    assume(problem[2].sum(axis=0).max() <= cap)
    Y, matches, current = sparse(*problem)
    counts = match_counts(Y, matches)
    found = assign(counts, current, overlap=overlap, max_cluster_size=cap).toarray() > 0
    counted, lives = counts.toarray() > 0, problem[2] > 0
    assert not np.any(found & ~counted & ~lives)
    uncounted_home = (found & ~counted).any(axis=1)
    assert np.all(found[uncounted_home].sum(axis=1) == 1)
    never_predicted = ~counted.any(axis=1)
    np.testing.assert_array_equal(found[never_predicted], lives[never_predicted])
    worth = counts.toarray()
    assert worth[found].sum() >= worth[lives].sum()
