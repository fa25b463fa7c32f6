import torch
from torch import nn

from multitudes.deep.training import TrainingConfig
from multitudes.deep.training.optimizer import make_optimizer, parameter_groups

from .problems import Model


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
