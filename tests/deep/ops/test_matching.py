"""The kernel that matches targets to steps compiles; see also tests/seq2set/losses."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from tests.triton_kernels import compile_for_a_gpu


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
