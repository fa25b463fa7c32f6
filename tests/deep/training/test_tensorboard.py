"""Curves for TensorBoard, read back by its own reader."""

import pytest

from .problems import PER_EPOCH, Problem


def test_curves_of_loss_terms_speed_and_validation(tmp_path, monkeypatch):
    monkeypatch.setattr("multitudes.deep.training.watch.SECONDS_BETWEEN_LOOKS", 1e9)
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
