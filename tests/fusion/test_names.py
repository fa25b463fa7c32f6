"""Words of label names, in parts."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.errors import DataError
from multitudes.fusion.names import LabelNames, TextWords, characters


def parts_of(names, label):
    """(part, share) pairs of a label's name."""
    of_label = slice(*names.starts[label : label + 2])
    return list(zip(names.parts[of_label].tolist(), names.shares[of_label].tolist(), strict=True))


def test_characters_lie_one_text_after_the_other_in_small_letters():
    starts, codes = characters(["Ab", "", "Ünï"])
    assert starts.tolist() == [0, 2, 2, 5]
    assert "".join(map(chr, codes.tolist())) == "abünï"
    lone = "a\ud800"  # half of a pair, as JSON may hold
    assert characters([lone])[1].tolist() == [ord("a"), 0xD800]


def test_a_part_of_a_name_has_its_share_by_how_rare_it_is():
    names = LabelNames(["red boat", "red", "", "red red"])
    red = parts_of(names, 1)
    assert [share for _, share in red] == [1.0]
    assert parts_of(names, 2) == []
    assert parts_of(names, 3) == red  # a part counts once
    shares = dict(parts_of(names, 0))
    rarity = {
        "red": np.log(5 / 4) + 1,
        "boat": np.log(5 / 2) + 1,
    }  # of four names: in three, in one
    assert shares.pop(red[0][0]) == pytest.approx(rarity["red"] / sum(rarity.values()))
    assert list(shares.values()) == pytest.approx([rarity["boat"] / sum(rarity.values())])


def test_names_of_labels_that_stay_and_of_new_ones():
    given = ["alpha market", "beta", "gamma house of glass", "delta"]
    names, new = LabelNames(given), LabelNames(["new one", ""])
    resized = names.resized(np.array([2, 0]), ["new one", ""])
    assert [parts_of(resized, label) for label in range(4)] == [
        parts_of(names, 2), parts_of(names, 0), parts_of(new, 0), [],
    ]  # fmt: skip
    assert len(resized.starts) == 5
    nothing_kept = names.resized(np.array([], np.int64), [])
    assert nothing_kept.starts.tolist() == [0]


def test_words_need_texts_and_names():
    made = TextWords.of(["a", "b"], ["x", "y", " "], n=2, n_labels=3)
    assert made.texts == ["a", "b"]
    assert len(made.names.starts) == 4
    assert TextWords.of(None, ["x"], n=2, n_labels=1) is None
    assert TextWords.of(["a", "b"], None, n=2, n_labels=1) is None
    assert TextWords.of(["a", "b"], ["", "  "], n=2, n_labels=2) is None
    with pytest.raises(DataError, match="a text for each of 3 labels, got 1"):
        TextWords.of(None, ["x"], n=2, n_labels=3)
    with pytest.raises(DataError, match="one for each of 2 instances, got 1"):
        TextWords.of(["a"], None, n=2, n_labels=3)
