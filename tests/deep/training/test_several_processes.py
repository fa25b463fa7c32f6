"""Two processes on the CPU do what several GPUs do: share the batches and the gradients."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from multitudes.deep.training import Batches, TrainingConfig, train

from .several_processes import BATCH, N_INSTANCES, PER_EPOCH

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
def test_processes_see_all_batches_and_end_with_the_same_weights(reports):
    first, second = reports["whole-0"], reports["whole-1"]
    assert first == second
    assert first[1] == [(epoch, batch) for epoch in (0, 1) for batch in range(PER_EPOCH)]


@pytest.mark.slow
def test_two_processes_are_one(reports):
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 1)
    torch.nn.Linear(2, 2)  # the processes' model has an unused part
    x = torch.randn(N_INSTANCES, 3)

    def draw(epoch, start):
        return iter(torch.arange(N_INSTANCES).split(BATCH)[start:])

    def step(rows):
        return {"loss": (model(x[rows]) - x[rows].sum(1, keepdim=True)).square().mean()}

    history = train(
        model,
        Batches(draw, PER_EPOCH, N_INSTANCES),
        step,
        config=TrainingConfig(epochs=2, learning_rate=0.1, accumulate=2, device="cpu"),
    )
    weights, _, terms, _ = reports["whole-0"]
    torch.testing.assert_close(model.weight.detach(), torch.tensor(weights))
    assert history.epochs[-1].terms["loss"] == pytest.approx(terms["loss"], rel=1e-5)


@pytest.mark.slow
def test_a_stopped_run_of_several_processes_resumes(reports):
    for process in (0, 1):
        assert reports[f"stopped-{process}"][1] == [(1, batch) for batch in range(4, PER_EPOCH)]
        assert reports[f"stopped-{process}"][0] == reports["whole-0"][0]
