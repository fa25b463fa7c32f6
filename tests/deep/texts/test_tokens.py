from itertools import pairwise

import numpy as np

from multitudes.deep.texts.tokens import TokenRows, pack

ROWS = TokenRows(np.array([5, 6, 7, 5, 7, 5, 8, 9, 7], np.uint16), np.array([0, 3, 5, 9]))


def test_take_gathers_texts_in_order_with_repeats():
    taken = ROWS.take(np.array([2, 0, 2]))
    assert taken.ids.tolist() == [5, 8, 9, 7, 5, 6, 7, 5, 8, 9, 7]
    assert taken.offsets.tolist() == [0, 4, 7, 11]


def test_take_nothing():
    taken = ROWS.take(np.array([], np.int64))
    assert len(taken) == 0
    assert taken.ids.tolist() == []


def test_shortened_keeps_the_separator():
    short = ROWS.shortened(3)
    assert [short.ids[a:b].tolist() for a, b in pairwise(short.offsets)] == [
        [5, 6, 7],
        [5, 7],
        [5, 8, 7],
    ]


def test_pack_marks_positions_texts_and_filling():
    packed = pack(ROWS, round_up_to=4)
    assert packed.ids.tolist() == [5, 6, 7, 5, 7, 5, 8, 9, 7, 0, 0, 0]
    assert packed.positions.tolist() == [0, 1, 2, 0, 1, 0, 1, 2, 3, 0, 0, 0]
    assert packed.texts.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3]
    assert packed.offsets.tolist() == [0, 3, 5, 9]
    assert (len(packed), packed.max_length) == (3, 4)


def test_padded_puts_each_text_in_a_row():
    ids, mask = pack(ROWS, round_up_to=4).padded(pad_id=0)
    assert ids.tolist() == [[5, 6, 7, 0], [5, 7, 0, 0], [5, 8, 9, 7]]
    assert mask.sum(dim=1).tolist() == [3, 2, 4]
