"""A GRU's cell against torch's, and the written-out gradient against autograd's."""

import pytest
import torch
from torch import nn

from multitudes.deep.ops.gru_cell import CellInputs, cell_backward, cell_forward, gru_cell
from tests.triton_kernels import compile_for_a_gpu


def test_gru_cell_is_torchs():
    torch.manual_seed(0)
    cell = nn.GRUCell(4, 3)
    x, hidden = torch.randn(5, 4), torch.randn(5, 3)
    inputs = nn.functional.linear(x, cell.weight_ih, cell.bias_ih)
    gates = nn.functional.linear(hidden, cell.weight_hh, cell.bias_hh)
    torch.testing.assert_close(gru_cell(inputs, gates, hidden), cell(x, hidden))


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_the_written_out_gradient_is_autograds(ragged, has_bias):
    torch.manual_seed(1)
    double = {"dtype": torch.float64}
    inputs, gates = (torch.randn(2, 4, 9, **double).requires_grad_() for _ in range(2))
    bias = torch.randn(2, 9, **double) if has_bias else None
    active = torch.tensor([True, False, True, False]) if ragged else None
    before, grad, more = (torch.randn(2, 4, 3, **double) for _ in range(3))
    before.requires_grad_()
    after = gru_cell(inputs, gates if bias is None else gates + bias[:, None], before)
    after = after if active is None else torch.where(active[:, None], after, before)
    after.backward(grad + more)
    hidden, rounded = before.detach().clone(), torch.empty_like(before)
    read = CellInputs(inputs.detach(), gates.detach(), bias, active)
    cell_forward(read, hidden, rounded)
    torch.testing.assert_close(hidden, after.detach())
    torch.testing.assert_close(rounded, after.detach())
    to_inputs, to_gates = torch.empty_like(read.inputs), torch.empty_like(read.gates)
    cell_backward(read, before.detach(), grad, (more,), to_inputs, to_gates)
    torch.testing.assert_close(to_inputs, inputs.grad)
    torch.testing.assert_close(to_gates, gates.grad)
    torch.testing.assert_close(grad, before.grad)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops.gru_cell import _backward_kernel, _forward_kernel

    read = {
        "inputs": f"*{kind}", "gates": f"*{kind}", "bias": "*fp32", "active": "*i1",
    }  # fmt: skip
    sizes = ("inputs_group", "inputs_row", "gates_group", "gates_row")
    constants = {"HAS_BIAS": True, "RAGGED": True, "LANES": 512}
    forward = {
        **read,
        "hidden": "*fp32",
        **dict.fromkeys(("rounded", "mask", "dropped"), f"*{kind}"),
        **dict.fromkeys((*sizes, "rounded_group", "rounded_row", "mask_row", "dropped_row"), "i32"),
        **dict.fromkeys(("size", "width"), "i32"),
    }
    compile_for_a_gpu(_forward_kernel, forward, {**constants, "DROPS": True})
    pointers = ("before", "first", "second", "to_inputs", "to_gates")
    more = ("before_group", "before_row", "first_group", "first_row", "second_group", "second_row")
    backward = {
        **read,
        **dict.fromkeys(pointers, f"*{kind}"),
        "grad": "*fp32",
        **dict.fromkeys((*sizes, *more, "size"), "i32"),
    }
    compile_for_a_gpu(_backward_kernel, backward, {**constants, "TWO": True})
