"""Groups as users hold them: ids, and lists of label names."""

from __future__ import annotations

import pytest

from multitudes.errors import DataError
from multitudes.tagger.inputs import grouped_texts


def test_ids_and_names_become_matrices():
    data = grouped_texts(
        ["a", "b", "c", "d"],
        ["order-1", ["order-1", 7, 7], None, []],
        {7: ["hat"], "order-1": ["hat", "belt", "hat"], "empty": []},
    )
    assert data.group_names == ("7", "order-1", "empty")
    assert data.label_names == ("belt", "hat")
    assert data.groups.toarray().tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert data.group_labels.toarray().tolist() == [[0, 1], [1, 2], [0, 0]]
    assert data.Y.shape == (4, 2)
    assert data.Y.nnz == 0


@pytest.mark.parametrize(
    ("texts", "groups", "labels", "message"),
    [
        (["a"], ["g", "h"], {"g": []}, "per text, got 1 texts and 2 groups"),
        ("a", ["g"], {"g": []}, "got one str and 1 groups"),
        (["a"], "g", {"g": []}, "got 1 texts and one str"),
        (["a"], ["h"], {"g": []}, r"groups\[0\] holds 'h', which is not among the 1 keys"),
        (["a"], [["g", 1.5]], {"g": []}, r"groups\[0\] holds 1.5"),
        (["a"], ["g"], [["x"]], "must be a mapping .* got list"),
        (["a"], ["g"], {"g": "x"}, r"group_labels\['g'\] must be a list of label names"),
        (["a"], ["g"], {"g": [3]}, r"group_labels\['g'\] holds 3 \(int\)"),
    ],
)
def test_mistakes_are_named(texts, groups, labels, message):
    with pytest.raises(DataError, match=message):
        grouped_texts(texts, groups, labels)
