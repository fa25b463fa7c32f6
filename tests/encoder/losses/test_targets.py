import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.encoder.losses.targets import BITS_31, _mixed, draw_positives, make_targets

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=30)


def as_tensors(pairs):
    rows, columns = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).unbind(1)
    return rows, columns


@given(PAIRS, st.integers(1, 4), st.integers(0, 2**70))
def test_draws_known_columns_without_repeats_and_all_if_there_are_few(pairs, n_drawn, random_state):
    rows, columns = as_tensors(pairs)
    drawn = draw_positives(rows, columns, n_rows=6, n_drawn=n_drawn, random_state=random_state)
    assert drawn.shape == (6, n_drawn)
    for row in range(6):
        known = {column for r, column in pairs if r == row}
        found = [column for column in drawn[row].tolist() if column >= 0]
        assert set(found) <= known
        assert len(found) == len(set(found)) == min(n_drawn, len(known))


def test_same_seed_same_draw_in_any_order():
    rows, columns = torch.zeros(50, dtype=torch.int64), torch.arange(50)
    order = torch.randperm(50, generator=torch.Generator().manual_seed(0))
    first = draw_positives(rows, columns, n_rows=1, n_drawn=5, random_state=3)
    again = draw_positives(rows[order], columns[order], n_rows=1, n_drawn=5, random_state=3)
    assert torch.equal(first, again)


def test_every_known_column_is_drawn_about_as_often():
    rows, columns = torch.zeros(8, dtype=torch.int64), torch.arange(8)
    draws = [
        draw_positives(rows, columns, n_rows=1, random_state=random_state).item()
        for random_state in range(4000)
    ]
    counts = torch.bincount(torch.tensor(draws), minlength=8)
    assert counts.sum() == 4000
    # 500 each are expected, with a standard deviation of 21: 5 of them either way.
    assert 395 < counts.min() <= counts.max() < 605


def test_rows_draw_independently():
    rows = torch.arange(4000).repeat_interleave(2)
    columns = torch.tensor([0, 1]).repeat(4000)
    drawn = draw_positives(rows, columns, n_rows=4000, random_state=1)[:, 0]
    assert 1840 < drawn.sum() < 2160
    assert 1840 < (drawn[1:] ^ drawn[:-1]).sum() < 2160


def test_every_bit_of_a_seed_has_a_say():
    rows, columns = torch.zeros(1000, dtype=torch.int64), torch.arange(1000)

    def draw(random_state):
        drawn = draw_positives(rows, columns, n_rows=1, n_drawn=3, random_state=random_state)
        return tuple(drawn[0].tolist())

    with_bits = {draw(1 << bit) for bit in range(93)}
    assert draw(0) not in with_bits
    assert len(with_bits) == 31  # longer seeds are folded


def test_no_two_numbers_are_scrambled_to_one():
    # Of so many numbers, a scramble of two to one would send some eight pairs together.
    numbers = torch.randint(BITS_31, (1 << 18,), generator=torch.Generator().manual_seed(0))
    numbers = numbers.unique()
    scrambled = _mixed(numbers)
    assert len(scrambled.unique()) == len(numbers)
    assert 0 <= scrambled.min() < scrambled.max() <= BITS_31
    assert _mixed(int(numbers[5])) == scrambled[5]


def test_one_instance_is_drawn_for_a_label_unless_more_are_wanted():
    positives = torch.zeros(3, 1, dtype=torch.int64)
    rows, columns = torch.arange(3), torch.zeros(3, dtype=torch.int64)
    both = positives, rows, columns
    assert make_targets(*both, n_labels=2, random_state=0).label_positives.shape == (2, 1)
    more = make_targets(*both, n_labels=2, random_state=0, n_label_positives=4).label_positives
    assert sorted(more[0].tolist()) == [-1, 0, 1, 2]
    draws = {
        make_targets(*both, n_labels=1, random_state=seed).label_positives.item()
        for seed in range(20)
    }
    assert draws == {0, 1, 2}


def test_targets_of_a_batch():
    positives = torch.tensor([[1], [0], [-1]])
    rows, columns = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 0])
    targets = make_targets(positives, rows, columns, n_labels=4, random_state=0)
    assert targets.known.int().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert targets.label_positives.tolist() == [[1], [0], [0], [-1]]
    assert targets.positives is positives
