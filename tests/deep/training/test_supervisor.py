"""Errors that say where, what and what to change; curves for TensorBoard."""

import pytest
import torch

from multitudes.deep.training import Checkpoint
from multitudes.deep.training.state_dicts import unpack_state
from multitudes.errors import ConfigError, MissingExtraError, ResourceError, TrainingError
from multitudes.store import read_state

from .problems import PER_EPOCH, Problem


def poison(loss):
    return loss * torch.nan


@pytest.mark.parametrize("log_every", [1, 3, 50])
def test_a_loss_that_is_not_a_number_names_epoch_batch_and_term(log_every):
    """However many batches later it is read."""
    problem = Problem()
    problem.at(1, 4, lambda loss: loss / 0)
    with pytest.raises(TrainingError, match=r"epoch 2 of 3, batch 5 of 8, .*: loss = inf; begin"):
        problem.train(log_every=log_every)


def test_the_weights_then_are_kept_apart_from_the_last_good_ones(tmp_path):
    problem = Problem()
    problem.at(1, 4, poison)
    with pytest.raises(TrainingError, match="diverged, the last good ones in .*checkpoint; begin"):
        problem.train(checkpoint=Checkpoint(tmp_path))
    bad = unpack_state(read_state(tmp_path / "diverged").parts["model"])
    good = unpack_state(read_state(tmp_path / "checkpoint").parts["model"])
    assert bad["first.weight"].isnan().all()
    assert good["first.weight"].isfinite().all()
    resumed = Problem()
    resumed.train(checkpoint=Checkpoint(tmp_path))
    assert resumed.seen[0] == (1, 0)


def test_before_the_first_checkpoint_there_are_no_good_ones(tmp_path):
    problem = Problem()
    problem.at(0, 0, poison)
    with pytest.raises(TrainingError, match="diverged; begin again"):
        problem.train(checkpoint=Checkpoint(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["diverged"]


def test_weights_that_are_not_finite_are_never_saved_as_good(tmp_path):
    """The last step of all: no later loss could tell."""
    problem = Problem()

    def step_into_the_void(loss):
        problem.model.last.weight.register_hook(lambda gradient: gradient * torch.inf)

    problem.at(2, 7, step_into_the_void)
    with pytest.raises(TrainingError, match="the end of epoch 3 of 3, .*: last.weight = nan"):
        problem.train(checkpoint=Checkpoint(tmp_path))


def test_the_advice_fits_the_settings():
    problem = Problem()
    problem.at(0, 0, poison)
    with pytest.raises(TrainingError) as error:
        problem.train(precision="bf16", clip=1.0)
    assert "a learning_rate below 0.01" in str(error.value)
    assert "precision='float32' instead of 'bf16'" in str(error.value)
    assert "clip" not in str(error.value)


@pytest.mark.parametrize(
    "error",
    [
        torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nDetails"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"),
    ],
)
def test_too_little_memory_names_the_settings_to_lower(error):
    problem = Problem()

    def run_out(loss):
        raise error

    problem.at(1, 2, run_out)
    with pytest.raises(ResourceError) as raised:
        problem.train(accumulate=2)
    message = str(raised.value)
    for word in ("epoch 2 of 3", "batch_size", "accumulate=4", "max_length"):
        assert word in message
    assert "gradient_checkpointing=True" in message
    assert "Details" not in message


def test_other_errors_pass_as_they_are():
    problem = Problem()

    def fail(loss):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    problem.at(0, 0, fail)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        problem.train()


def test_a_term_that_comes_and_goes_is_refused():
    problem = Problem()
    step = problem.step

    def moody(batch):
        terms = step(batch)
        return terms if batch[1] < 3 else {"loss": terms["loss"]}

    problem.step = moody
    with pytest.raises(ConfigError, match=r"\['loss', 'mean'\] before, \['loss'\] now"):
        problem.train()


def test_tensorboard_names_its_extra_where_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"multitudes\[tensorboard\]"):
        Problem().train(tensorboard=str(tmp_path))


def test_curves_of_loss_terms_speed_and_validation(tmp_path, monkeypatch):
    monkeypatch.setattr("multitudes.deep.training.supervisor.SECONDS_BETWEEN_CHECKS", 1e9)
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    history = Problem().train(
        tensorboard=str(tmp_path), validate=lambda: {"fit": 0.25}, log_every=4
    )
    events = reading.EventAccumulator(str(tmp_path)).Reload()
    assert set(events.Tags()["scalars"]) == {
        "train/loss", "train/mean", "speed/learning_rate", "speed/instances_per_second",
        "validation/fit",
    }  # fmt: skip
    losses = events.Scalars("train/loss")
    assert [point.step for point in losses] == [4, 8, 12, 16, 20, 24]
    assert (losses[0].value + losses[1].value) / 2 == pytest.approx(
        history.epochs[0].terms["loss"], rel=1e-5
    )
    fits = events.Scalars("validation/fit")
    assert [(point.step, point.value) for point in fits] == [
        (PER_EPOCH * epoch, 0.25) for epoch in (1, 2, 3)
    ]
