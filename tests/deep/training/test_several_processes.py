"""Two processes on the CPU do what several GPUs do: share the batches and the gradients."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from multitudes.deep.training import Batches, TrainingConfig, train

from .several_processes import BATCH, N_INSTANCES

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """(weights, batches seen, loss terms, metrics) of each run and process."""
    folder = tmp_path_factory.mktemp("processes")
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run(
        [sys.executable, *command, "-m", "tests.deep.training.several_processes", str(folder)],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True, timeout=300,
    )  # fmt: skip
    return {path.stem: ast.literal_eval(path.read_text()) for path in folder.glob("*.txt")}


@pytest.mark.slow
def test_processes_take_turns_and_end_with_the_same_weights(reports):
    first, second = reports["whole-0"], reports["whole-1"]
    assert first[0] == second[0]
    assert first[1] == [(epoch, batch) for epoch in (0, 1) for batch in (0, 2, 4, 6)]
    assert second[1] == [(epoch, batch) for epoch in (0, 1) for batch in (1, 3, 5, 7)]
    assert first[2:] == second[2:]


@pytest.mark.slow
def test_two_processes_are_one_with_twice_the_batches_a_step(reports):
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 1)
    torch.nn.Linear(2, 2)  # the processes' model has an unused part
    x = torch.randn(N_INSTANCES, 3)

    def draw(epoch, start):
        return iter(torch.arange(32).split(BATCH)[start:])

    def step(rows):
        return {"loss": (model(x[rows]) - x[rows].sum(1, keepdim=True)).square().mean()}

    history = train(
        model,
        Batches(draw, 8, N_INSTANCES),
        step,
        config=TrainingConfig(epochs=2, learning_rate=0.1, accumulate=4, device="cpu"),
    )
    weights, _, terms, _ = reports["whole-0"]
    torch.testing.assert_close(model.weight.detach(), torch.tensor(weights))
    assert history.epochs[-1].terms["loss"] == pytest.approx(terms["loss"], rel=1e-5)


@pytest.mark.slow
def test_a_stopped_run_of_several_processes_resumes(reports):
    for process in (0, 1):
        assert reports[f"stopped-{process}"][1] == [(1, 4 + process), (1, 6 + process)]
        assert reports[f"stopped-{process}"][0] == reports["whole-0"][0]
