"""Each operation's kernel against its plain form, on a GPU and in Triton's interpreter."""

import pytest

pytest.importorskip("torch")

from multitudes.deep.ops.switch import OPERATIONS
from tests.deep.ops import forms
from tests.triton_kernels import run_interpreted


def test_no_operation_is_left_out():
    assert set(forms.FORMS) == set(OPERATIONS)


@pytest.mark.gpu
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_gpu_computes_the_same_both_ways(operation):
    forms.check(operation, "cuda")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_interpreter_computes_the_same_both_ways(operation):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(f"from tests.deep.ops.forms import check\ncheck({operation!r}, 'cpu')")
