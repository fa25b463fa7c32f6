import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from multitudes.deep.training import TrainingConfig
from multitudes.deep.training.optimizer import learning_rate, make_optimizer, parameter_groups

from .problems import Model

SCHEDULES = ["linear", "cosine", "cosine-epochs", "constant"]


def names_of(model, group):
    own = {id(p) for p in group["params"]}
    return {name for name, p in model.named_parameters() if id(p) in own}


def test_biases_norms_and_what_the_model_names_do_not_decay():
    model = Model()
    decaying, plain = parameter_groups(model, 0.1)
    assert names_of(model, decaying) == {"first.weight", "last.weight"}
    assert names_of(model, plain) == {
        "first.bias", "last.bias", "norm.weight", "norm.bias", "table.weight",
    }  # fmt: skip
    assert (decaying["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)


def test_a_name_is_a_whole_module_or_parameter_never_a_part_of_a_name():
    model = nn.Module()
    model.free = nn.Linear(2, 2, bias=False)
    model.freedom = nn.Linear(2, 2, bias=False)
    model.matrix = nn.Parameter(torch.zeros(2, 2))
    model.no_decay = ("free", "matrix")
    decaying, plain = parameter_groups(model, 0.1)
    assert names_of(model, decaying) == {"freedom.weight"}
    assert names_of(model, plain) == {"free.weight", "matrix"}


def test_frozen_parameters_are_in_no_group_and_empty_groups_are_left_out():
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    optimizer = make_optimizer(model, TrainingConfig(weight_decay=0.5, learning_rate=0.25))
    assert len(optimizer.param_groups) == 1
    assert optimizer.param_groups[0]["params"] == [model.weight]
    assert optimizer.param_groups[0]["weight_decay"] == 0.5
    assert optimizer.param_groups[0]["lr"] == 0.25


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
