"""Slow, obvious twins of the kernels of fusion."""

from __future__ import annotations

import numpy as np


def sum_lists(labels, values, member, weights, bin_of, base, top_k):
    """[(label, score), ...] of each row, best first, ties to the smaller label."""
    rows = []
    for i, row in enumerate(labels.tolist()):
        totals: dict[int, np.float32] = {}
        for j, label in enumerate(row):
            if label >= 0:
                value = values[i if len(values) > 1 else 0, j]
                before = totals.get(label, base[bin_of[label]])
                totals[label] = np.float32(before + weights[bin_of[label], member[j]] * value)
        ranked = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))
        rows.append([(label, float(score)) for label, score in ranked[:top_k]])
    return rows


def parts(text):
    """The parts of the words of a text: runs of four characters; shorter words as they are."""
    words = "".join(c if c.isalnum() and c.isascii() else " " for c in text.lower()).split()
    return {w[i : i + 4] for w in words for i in range(max(1, len(w) - 3))}


def description(label, lists, scores, worth):
    """What `describe_candidates` says of a label of one instance, by member and in all.

    `lists` and `scores` are lists of each member; `worth` that of a rank.
    """
    of_members = []
    for listed, own in zip(lists, scores, strict=True):
        if label in listed:
            at = listed.index(label)
            of_members += [own[at], worth[at], own[0] - own[at], own[at] - own[len(listed) - 1]]
        else:
            of_members += [np.nan, 0.0, np.nan, np.nan]
    total = sum(worth[one.index(label)] for one in lists if label in one)
    return total, sum(label in one for one in lists), of_members


def tree_sum(trees, row):
    """The sum of the leaves that a row falls into."""
    total = 0.0
    for root in trees.roots:
        node = root
        while trees.feature[node] >= 0:
            x = row[trees.feature[node]]
            left = trees.missing_left[node] if np.isnan(x) else x <= trees.threshold[node]
            node = trees.left[node] if left else trees.right[node]
        total += float(trees.value[node])
    return total
