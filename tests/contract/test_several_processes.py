"""Several processes train what one process trains: the same weights, centroids included.

Processes of the CPU, connected by gloo, stand for several GPUs.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from .several_processes import EPOCHS, everything, texts_and_labels, with_dropout

ROOT = Path(__file__).parents[2]
MODULE = "tests.contract.several_processes"


def run(folder, n_processes):
    """The folder that each process writes to what it ended with."""
    folder.mkdir()
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={n_processes}"]
    subprocess.run(
        [sys.executable, *launcher, "-m", MODULE, str(folder)],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True, timeout=300,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def alone():
    return everything()


@pytest.fixture(scope="module", params=[2, 4])
def folder(request, tmp_path_factory):
    return run(tmp_path_factory.mktemp("together") / "run", request.param)


@pytest.fixture(scope="module")
def together(folder):
    return [np.load(path, allow_pickle=True) for path in sorted(folder.glob("[0-9].npz"))]


@pytest.mark.slow
def test_several_processes_are_one(alone, together):
    """PRIME, sets, sequences and bags: all weights, centroids, free vectors and metrics."""
    arrays, seen = alone
    arrays["resumed"] = arrays["label_vectors"]
    for found in together:
        assert found["seen"].tolist() == seen
        for name in set(found.files) - {"seen"}:
            np.testing.assert_allclose(found[name], arrays[name], atol=1e-5, rtol=0, err_msg=name)


@pytest.mark.slow
def test_processes_end_with_the_same_bits(together):
    first, *others = together
    for other in others:
        for name in set(first.files) - {"seen"}:
            np.testing.assert_array_equal(other[name], first[name], err_msg=name)


@pytest.mark.slow
def test_an_epoch_is_a_permutation(together):
    n_instances = texts_and_labels()[1].shape[0]
    for found in together:
        rows = np.concatenate([np.array(batch) for batch in found["seen"]])
        epochs = np.sort(rows.reshape(EPOCHS, n_instances))
        np.testing.assert_array_equal(epochs, np.tile(np.arange(n_instances), (EPOCHS, 1)))


@pytest.mark.slow
def test_a_stopped_training_of_several_processes_goes_on(together):
    """Of two; four do not try."""
    np.testing.assert_array_equal(together[0]["resumed"], together[0]["label_vectors"])


@pytest.mark.slow
def test_processes_draw_random_numbers_of_their_own_and_still_agree(folder):
    """With dropout they end near one process, but not where it does."""
    alone = with_dropout()
    found = [np.load(path) for path in sorted(folder.glob("dropout-*.npz"))]
    assert len({int(seed) for process in found for seed in process["seeds"]}) == len(found)
    for process in found:
        np.testing.assert_array_equal(process["vectors"], found[0]["vectors"])
    np.testing.assert_allclose(found[0]["losses"], alone["losses"], rtol=0.1)
    assert np.abs(found[0]["losses"] - alone["losses"]).max() > 1e-6
