"""The Triton kernel against the CPU's, in Triton's interpreter."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import numpy as np
import torch
from multitudes.deep.ops.matching import match_on_device
from multitudes.seq2set.losses.matching import Matcher

rng = np.random.default_rng(0)
for n, n_steps, width in [(8, 7, 4), (6, 5, 5), (2, 1, 1), (0, 3, 2), (2, 3, 0), (2, 17, 9)]:
    gain = rng.random((n, n_steps, width), np.float32) ** 4
    gain[::3] = rng.integers(0, 3, gain[::3].shape)  # ties
    n_targets = rng.integers(0, width + 1, n)
    n_targets[:2] = [width, 0][: n]
    tensors = torch.from_numpy(gain), torch.from_numpy(n_targets)
    for scheme in ("all", "first-n"):
        expected = Matcher(scheme, n_jobs=1).start(*tensors).steps()
        found = match_on_device(*tensors, first_only=scheme == "first-n")
        assert torch.equal(found, expected), (n, n_steps, width, scheme)

# Gains that are no numbers end the search too.
torch.manual_seed(0)
gain = torch.rand(4, 5, 4)
gain[torch.rand(gain.shape) < 0.5] = torch.nan
gain[0] = torch.inf
steps = match_on_device(gain, torch.tensor([4, 4, 3, 4]), first_only=False)
for row in steps.tolist():
    placed = [step for step in row if step >= 0]
    assert len(set(placed)) == len(placed) >= 3 and max(placed) < 5
"""


def test_the_kernel_matches_as_the_cpu_does_ties_included():
    run_interpreted(CHECK)


@pytest.mark.parametrize("first_only", [False, True])
def test_the_kernel_compiles_for_a_gpu(first_only):
    from multitudes.deep.ops.matching import _match_kernel

    types = {
        "gain": "*fp32",
        "n_targets": "*i64",
        "steps": "*i64",
        "n_steps": "i32",
        "width": "i32",
    }
    compile_for_a_gpu(_match_kernel, types, {"FIRST_ONLY": first_only, "STEPS": 32, "TARGETS": 16})
