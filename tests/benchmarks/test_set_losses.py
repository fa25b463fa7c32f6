import argparse

import pytest

pytest.importorskip("torch")

from benchmarks import set_losses


def test_all_ways_find_the_same_loss():
    options = argparse.Namespace(
        labels=40, batch=5, steps=6, mean_labels=3, width=4, dim=3, device="cpu", rounds=1,
        skip_dense=False,
    )  # fmt: skip
    found = set_losses.compare(options)
    losses = [
        found[name]["loss"] for name in ("set", "set, matched on the host", "set, one by one")
    ]
    assert losses[1:] == pytest.approx(losses[:1] * 2, rel=1e-4)
    assert found["sequence"]["loss"] != pytest.approx(losses[0], rel=0.1)
