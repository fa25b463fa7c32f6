"""Padded batches, and which instances go together."""

import numpy as np
import pytest

from multitudes.seq2set.words.batches import epoch_rows, sorted_rows, word_batch

from ..tiny import token_rows


def test_padding():
    rows = token_rows((5, 2, 1))
    batch = word_batch(rows, round_up_to=4)
    assert batch.ids.shape == (3, 8)
    assert batch.lengths.tolist() == batch.host_lengths.tolist() == [5, 2, 1]
    assert batch.ids[1].tolist() == [*rows.ids[5:7].tolist(), 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("per_doubling", "expected"),
    [
        (None, list(range(1, 18))),
        (1, [1, 2, 4, 4, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 32]),
        (2, [1, 2, 3, 4, 6, 6, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16, 24]),
        (4, [1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 12, 12, 14, 14, 16, 16, 20]),
    ],
)
def test_few_lengths(per_doubling, expected):
    def width(n):
        batch = word_batch(token_rows((n, 1)), round_up_to=2, per_doubling=per_doubling)
        return batch.ids.shape[1]

    assert [width(2 * n) for n in range(1, 18)] == [2 * n for n in expected]
    assert width(15) >= 15


@pytest.mark.parametrize(("n", "size"), [(100, 8), (96, 8), (3, 8), (1000, 8), (1, 1)])
def test_an_epoch_shows_every_instance_in_batches_of_one_size(n, size):
    lengths = np.random.default_rng(0).integers(1, 50, n)
    batches = epoch_rows(lengths, batch_size=size, random_state=3, epoch=0)
    assert {len(batch) for batch in batches} == {min(n, size)}
    assert len(batches) == -(-n // min(n, size))
    assert set(np.concatenate(batches).tolist()) == set(range(n))
    for batch in batches:
        assert (np.diff(lengths[batch]) <= 0).all()


def test_texts_of_similar_length_go_together():
    lengths = np.random.default_rng(0).integers(1, 500, 1024)
    batches = epoch_rows(lengths, batch_size=8, random_state=0, epoch=1)
    spread = np.mean([np.ptp(lengths[batch]) for batch in batches])
    assert spread < 50


def test_order_depends_on_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(1, 500, 64)

    def order(random_state, epoch):
        batches = epoch_rows(lengths, batch_size=8, random_state=random_state, epoch=epoch)
        return np.concatenate(batches).tolist()

    assert order(0, 1) == order(0, 1)
    assert order(0, 1) != order(1, 0)
    assert order(0, 1) != order(0, 2)


def test_prediction_takes_the_longest_first():
    batches = list(sorted_rows(np.array([3, 9, 9, 1]), batch_size=3))
    assert [batch.tolist() for batch in batches] == [[1, 2, 0], [3]]
