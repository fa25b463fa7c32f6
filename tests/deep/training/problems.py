"""A small regression with all that makes resuming hard: dropout, momentum, a state beside it."""

from __future__ import annotations

import torch
from torch import nn

from multitudes.deep.training import Batches, TrainingConfig, train

N_INSTANCES, BATCH = 60, 8
PER_EPOCH = 8  # the last batch is a smaller one
SETTINGS = {"epochs": 3, "learning_rate": 1e-2, "device": "cpu"}


class Model(nn.Module):
    """Two layers with a norm and dropout between them, and a table that never decays."""

    no_decay = ("table",)

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 16)
        self.norm = nn.LayerNorm(16)
        self.drop = nn.Dropout(0.2)
        self.last = nn.Linear(16, 2)
        self.table = nn.Embedding(4, 2)

    def forward(self, x):
        return self.last(self.drop(torch.tanh(self.norm(self.first(x))))) + self.table.weight[0]


class Mean:
    """A running mean of what the model says: learned beside the weights, without a gradient."""

    def __init__(self):
        self.value = torch.zeros(2)
        self.n_updates = 0

    def update(self, outputs):
        self.value = 0.9 * self.value + 0.1 * outputs.detach().mean(0)
        self.n_updates += 1

    def state_dict(self):
        return {"value": self.value, "n_updates": self.n_updates}

    def load_state_dict(self, state):
        self.value, self.n_updates = state["value"], state["n_updates"]


class Problem:
    """A model, its data and its step; what happens at a batch can be added with `at`."""

    def __init__(self):
        torch.manual_seed(1)
        self.model, self.mean = Model(), Mean()
        self.x = torch.randn(N_INSTANCES, 5)  # (n_instances, 5)
        self.y = self.x[:, :2] + 0.5  # (n_instances, 2)
        self.seen = []  # (epoch, batch) of each step
        self.surprises = {}

    def draw(self, epoch, start):
        order = torch.randperm(N_INSTANCES, generator=torch.Generator().manual_seed(epoch))
        for i, rows in enumerate(order.split(BATCH)):
            if i >= start:
                yield epoch, i, rows

    def at(self, epoch, batch, do):
        self.surprises[epoch, batch] = do

    def step(self, batch):
        epoch, i, rows = batch
        self.seen.append((epoch, i))
        outputs = self.model(self.x[rows])  # (b, 2)
        self.mean.update(outputs)
        loss = (outputs - self.y[rows]).square().mean() + 0.01 * self.mean.value.sum()
        loss = loss + 0.01 * torch.rand(())
        surprise = self.surprises.get((epoch, i), lambda value: None)(loss)
        loss = loss if surprise is None else surprise
        return {"loss": loss, "mean": self.mean.value.sum()}

    @torch.no_grad()
    def error(self):
        return float((self.model(self.x) - self.y).square().mean())

    def train(self, *, validate=None, checkpoint=None, **settings):
        return train(
            self.model,
            Batches(self.draw, PER_EPOCH, N_INSTANCES),
            self.step,
            config=TrainingConfig(**{**SETTINGS, **settings}),
            validate=validate,
            stateful={"mean": self.mean},
            checkpoint=checkpoint,
        )

    def assert_same(self, other):
        """The same weights and state, bit for bit."""
        own, others = self.model.state_dict(), other.model.state_dict()
        assert own.keys() == others.keys()
        for name, value in own.items():
            assert torch.equal(value, others[name]), name
        assert torch.equal(self.mean.value, other.mean.value)
        assert self.mean.n_updates == other.mean.n_updates
