"""The loop itself: what it optimizes, in which order, and what it reports."""

import math
import random

import numpy as np
import pytest
import torch

from multitudes.deep.training import Batches, TrainingConfig, train
from multitudes.errors import ConfigError, DataError

from .problems import BATCH, N_INSTANCES, PER_EPOCH, Problem

ALL_BATCHES = [(epoch, batch) for epoch in range(3) for batch in range(PER_EPOCH)]


def test_it_learns_and_tells_how_it_went():
    problem = Problem()
    before = problem.error()
    history = problem.train(epochs=30)
    assert problem.error() < 0.2 * before
    assert [record.epoch for record in history.epochs] == list(range(30))
    first, last = history.epochs[0], history.epochs[-1]
    assert first.n_batches == PER_EPOCH
    assert list(first.terms) == ["loss", "mean"]
    assert last.terms["loss"] < first.terms["loss"]
    assert last.instances_per_second == pytest.approx(N_INSTANCES / last.seconds)
    assert not problem.model.training


def test_every_batch_of_every_epoch_is_seen_once_in_order():
    problem = Problem()
    problem.train()
    assert problem.seen == ALL_BATCHES


def test_the_same_seed_gives_the_same_weights_and_another_one_does_not():
    one, same, other = Problem(), Problem(), Problem()
    one.train()
    torch.rand(3)  # the caller's random state does not matter
    same.train()
    other.train(random_state=1)
    one.assert_same(same)
    assert not torch.equal(one.model.first.weight, other.model.first.weight)


def test_the_callers_random_states_are_left_as_they_were():
    def draws():
        return random.random(), np.random.rand(), float(torch.rand(()))

    def random_state():
        random.seed(5), np.random.seed(5), torch.manual_seed(5)

    problem = Problem()
    random_state()
    expected = draws()
    random_state()
    problem.train(epochs=1)
    assert draws() == expected


def plain_loop(problem, *, window, clip=None):
    """The same training written with nothing but torch."""
    groups = [
        {"params": [problem.model.first.weight, problem.model.last.weight], "weight_decay": 0.01},
        {"params": [p for n, p in problem.model.named_parameters() if n not in DECAYING],
         "weight_decay": 0.0},
    ]  # fmt: skip
    optimizer = torch.optim.AdamW(groups, lr=1e-2)
    torch.manual_seed(0)
    problem.model.train()
    for epoch in range(3):
        batches = list(problem.draw(epoch, 0))
        for i in range(0, len(batches), window):
            own = batches[i : i + window]
            for batch in own:
                (problem.step(batch)["loss"] / len(own)).backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(problem.model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad()


DECAYING = ("first.weight", "last.weight")


@pytest.mark.parametrize(("window", "clip"), [(1, None), (1, 0.1), (3, None), (100, 0.1)])
def test_against_a_plain_torch_loop(window, clip):
    """With 8 batches an epoch, windows of 3 end with one of 2, whose mean is over 2."""
    ours, plain = Problem(), Problem()
    ours.train(schedule="constant", warmup_steps=0, accumulate=window, clip=clip)
    plain_loop(plain, window=window, clip=clip)
    ours.assert_same(plain)


def test_accumulated_gradients_are_those_of_one_large_batch():
    """Without dropout, with a loss that is a mean over equal batches."""

    def fit(batch, accumulate):
        torch.manual_seed(0)
        model = torch.nn.Linear(5, 1)
        x = torch.randn(16, 5)

        def draw(epoch, start):
            return iter(x.split(batch)[start:])

        train(
            model,
            Batches(draw, 16 // batch, 16),
            lambda rows: {"loss": (model(rows) - rows.sum(1, keepdim=True)).square().mean()},
            config=TrainingConfig(epochs=4, device="cpu", accumulate=accumulate),
        )
        return model.weight.detach()

    torch.testing.assert_close(fit(16, 1), fit(4, 4))


def test_validation_runs_in_evaluation_mode_without_gradients():
    problem, modes = Problem(), []

    def validate():
        output = problem.model(problem.x)
        modes.append((problem.model.training, output.requires_grad))
        return {"fit": -problem.error()}

    history = problem.train(validate=validate)
    assert modes == [(False, False)] * 3
    assert [list(record.metrics) for record in history.epochs] == [["fit"]] * 3


def test_validation_every_few_epochs_and_after_the_last():
    problem = Problem()
    history = problem.train(epochs=5, evaluate_every=2, validate=lambda: {"fit": 1.0})
    assert [bool(r.metrics) for r in history.epochs] == [False, True, False, True, True]


def scripted(problem, values):
    """A validation that gives these values, and the weights that it saw."""
    seen, rest = [], iter(values)

    def validate():
        seen.append((problem.model.first.weight.clone(), problem.mean.value.clone()))
        return {"loss of time": 9.0, "fit": next(rest)}

    return validate, seen


def test_the_best_weights_come_back_with_what_was_learned_beside_them():
    problem = Problem()
    validate, seen = scripted(problem, [0.1, 0.5, 0.5, 0.2])
    history = problem.train(epochs=4, validate=validate, monitor="fit")
    assert history.best is history.epochs[1]  # the earliest of equals
    assert torch.equal(problem.model.first.weight, seen[1][0])
    assert torch.equal(problem.mean.value, seen[1][1])


def test_or_the_last_ones_stay():
    problem = Problem()
    validate, seen = scripted(problem, [0.1, 0.5, 0.2])
    problem.train(validate=validate, monitor="fit", restore_best=False)
    assert torch.equal(problem.model.first.weight, seen[-1][0])


def test_training_stops_when_validation_no_longer_improves():
    problem = Problem()
    validate, seen = scripted(problem, [0.1, 0.5, 0.4, 0.5, 0.6])
    history = problem.train(epochs=5, validate=validate, monitor="fit", patience=2)
    assert [record.metrics["fit"] for record in history.epochs] == [0.1, 0.5, 0.4, 0.5]
    assert torch.equal(problem.model.first.weight, seen[1][0])


def test_patience_without_validation_is_told_to_do_nothing():
    with pytest.warns(UserWarning, match="patience=2 does nothing without validation data"):
        Problem().train(epochs=3, patience=2)


def test_an_unknown_monitor_is_named():
    with pytest.raises(ConfigError, match="monitor='fitt' .* did you mean 'fit'"):
        Problem().train(validate=lambda: {"fit": 1.0}, monitor="fitt")


def test_a_metric_that_is_not_a_number_is_never_the_best():
    history = Problem().train(validate=iter([{"fit": math.nan}, {"fit": -1.0}]).__next__, epochs=2)
    assert history.best is history.epochs[1]


def test_the_learning_rate_follows_the_schedule():
    problem, rates = Problem(), []
    optimizer_step = torch.optim.AdamW.step

    def note(self, closure=None):
        rates.append(self.param_groups[0]["lr"])
        return optimizer_step(self, closure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", note)
        problem.train(warmup_steps=2, accumulate=2)
    n_steps = 3 * PER_EPOCH // 2
    assert rates[0] == pytest.approx(1e-2)  # a warm-up of one step: a tenth of 12
    assert rates[1:] == pytest.approx([1e-2 * (n_steps - i) / (n_steps - 1) for i in range(1, 12)])


def test_mixed_precision_is_for_the_step_alone_and_may_change_between_runs():
    """Accelerate keeps its settings for the whole process; a notebook does not care."""
    dtypes = []
    for precision in ("bf16", "float32", "bf16"):
        problem = Problem()
        problem.at(0, 0, lambda loss, p=problem: dtypes.append(p.model.first(p.x).dtype))
        problem.train(epochs=1, precision=precision)
        assert {p.dtype for p in problem.model.parameters()} == {torch.float32}
    assert dtypes == [torch.bfloat16, torch.float32, torch.bfloat16]


def test_the_step_is_compiled_on_request(monkeypatch):
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda step: compiled.append(step) or step)
    problem = Problem()
    problem.train(epochs=1, compile=True)
    assert compiled == [problem.step]


def test_frozen_parameters_stay_as_they_are():
    problem = Problem()
    problem.model.first.requires_grad_(False)
    before = problem.model.first.weight.clone()
    problem.train()
    assert torch.equal(problem.model.first.weight, before)
    assert problem.model.first.weight.grad is None


def test_a_step_without_a_loss_is_refused():
    problem = Problem()
    with pytest.raises(ConfigError, match=r"must give a term 'loss', got \['mean'\]"):
        train(
            problem.model,
            Batches(problem.draw, PER_EPOCH, N_INSTANCES),
            lambda batch: {"mean": problem.step(batch)["mean"]},
            config=TrainingConfig(device="cpu"),
        )


def test_no_batches_are_refused():
    with pytest.raises(DataError, match="an epoch of 3 instances has 0 batches"):
        Batches(lambda epoch, start: iter(()), 0, 3)


def test_a_generator_is_closed_when_training_fails():
    problem, closed = Problem(), []

    def draw(epoch, start):
        try:
            yield from problem.draw(epoch, start)
        finally:
            closed.append(epoch)

    def step(batch):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(
            problem.model,
            Batches(draw, PER_EPOCH, BATCH * PER_EPOCH),
            step,
            config=TrainingConfig(device="cpu"),
        )
    assert closed == [0]
