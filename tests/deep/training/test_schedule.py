import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.deep.training import TrainingConfig
from multitudes.deep.training.schedule import learning_rate

SCHEDULES = ["linear", "cosine", "cosine-epochs", "constant"]


def rates(schedule, *, epochs=10, per_epoch=10, warmup=5):
    config = TrainingConfig(
        epochs=epochs, learning_rate=2.0, schedule=schedule, warmup_steps=warmup
    )
    return [learning_rate(config, step, per_epoch) for step in range(epochs * per_epoch)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_warm_up_is_a_line_that_ends_at_the_top(schedule):
    assert rates(schedule)[:5] == pytest.approx([0.4, 0.8, 1.2, 1.6, 2.0])


def test_a_line_falls_by_equal_amounts_and_would_reach_0_one_step_later():
    assert rates("linear")[5:] == pytest.approx([2.0 * (95 - i) / 95 for i in range(95)])


def test_a_cosine_is_at_half_height_in_the_middle():
    after = rates("cosine", warmup=0)
    assert after[0] == 2.0
    assert after[50] == pytest.approx(1.0)
    assert after[25] == pytest.approx(1.0 + math.cos(math.pi / 4))


def test_a_cosine_by_epochs_is_torchs_own_stepped_once_an_epoch():
    import torch

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    annealing = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    ours = rates("cosine-epochs", warmup=0)
    for epoch in range(10):
        assert ours[10 * epoch : 10 * epoch + 10] == pytest.approx(
            [optimizer.param_groups[0]["lr"]] * 10
        )
        optimizer.step()
        annealing.step()


def test_constant():
    assert set(rates("constant")[4:]) == {2.0}


def test_short_runs_leave_the_warm_up():
    assert rates("linear", epochs=2, per_epoch=10, warmup=100)[:3] == pytest.approx([1.0, 2.0, 2.0])


@given(
    schedule=st.sampled_from(SCHEDULES),
    epochs=st.integers(1, 8),
    per_epoch=st.integers(1, 30),
    warmup=st.integers(0, 50),
)
def test_it_rises_once_and_then_never_again(schedule, epochs, per_epoch, warmup):
    values = rates(schedule, epochs=epochs, per_epoch=per_epoch, warmup=warmup)
    top = values.index(max(values))
    assert values[: top + 1] == sorted(values[: top + 1])
    assert values[top:] == sorted(values[top:], reverse=True)
    assert max(values) == 2.0
    assert min(values) >= 0
