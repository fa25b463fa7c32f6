import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from multitudes.deep.training import SparseRows, TrainingConfig
from multitudes.deep.training.optimizer import (
    clip_gradients,
    learning_rate,
    make_optimizer,
    parameter_groups,
)

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


# --- tables of which a step reads a few rows


class WithTable(nn.Module):
    """A layer, and a table of five rows with sparse gradients."""

    def __init__(self, *, sparse=True):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(2, 1)
        self.table = nn.Embedding(5, 2, sparse=sparse)
        self.sparse_rows = (SparseRows(self.table.weight),) if sparse else ()

    def loss(self, rows):
        return self.layer(self.table(torch.tensor(rows))).square().sum()


def steps(model, batches, optimizer=None):
    optimizer = optimizer or make_optimizer(
        model, TrainingConfig(learning_rate=0.1, weight_decay=0.0)
    )
    for rows in batches:
        optimizer.zero_grad()
        model.loss(rows).backward()
        optimizer.step()
    return optimizer


def test_rows_that_are_read_at_every_step_are_moved_as_by_adam():
    sparse, dense = WithTable(), WithTable(sparse=False)
    for model in (sparse, dense):
        steps(model, [[1, 3, 1]] * 6)
    # Not to the last digits: torch's two Adams add epsilon in different places.
    torch.testing.assert_close(sparse.table.weight, dense.table.weight, atol=1e-4, rtol=0)
    torch.testing.assert_close(sparse.layer.weight, dense.layer.weight, atol=1e-4, rtol=0)


def test_a_row_that_is_not_read_stays_where_adam_would_move_it_on():
    """What differs from Adam: it goes on moving a row by its momentum, and lets that fade."""
    sparse, dense = WithTable(), WithTable(sparse=False)
    optimizers = [steps(model, [[1, 3]]) for model in (sparse, dense)]
    before = [model.table.weight.detach().clone() for model in (sparse, dense)]
    moments = optimizers[0].state[sparse.table.weight]["exp_avg"].clone()
    for model, optimizer in zip((sparse, dense), optimizers, strict=True):
        steps(model, [[3]], optimizer)
    assert torch.equal(sparse.table.weight[1], before[0][1])
    assert not torch.equal(dense.table.weight[1], before[1][1])
    assert torch.equal(optimizers[0].state[sparse.table.weight]["exp_avg"][1], moments[1])


def test_joined_optimizers_go_on_from_a_state():
    whole, stopped, resumed = WithTable(), WithTable(), WithTable()
    batches = [[0, 1], [1, 4], [4, 4], [2, 0]]
    steps(whole, batches)
    state = steps(stopped, batches[:2]).state_dict()
    resumed.load_state_dict(stopped.state_dict())
    optimizer = steps(resumed, [])
    optimizer.load_state_dict(state)
    steps(resumed, batches[2:], optimizer)
    assert torch.equal(resumed.table.weight, whole.table.weight)
    assert torch.equal(resumed.layer.weight, whole.layer.weight)


def test_sparse_gradients_are_clipped_with_the_others():
    sparse, dense = WithTable(), WithTable(sparse=False)
    for model in (sparse, dense):
        model.loss([1, 1, 2]).backward()  # a row that comes twice
    clip_gradients(list(sparse.parameters()), 0.01)
    norm = nn.utils.clip_grad_norm_(dense.parameters(), 0.01)
    assert norm > 0.01
    torch.testing.assert_close(sparse.table.weight.grad.to_dense(), dense.table.weight.grad)
    torch.testing.assert_close(sparse.layer.weight.grad, dense.layer.weight.grad)
