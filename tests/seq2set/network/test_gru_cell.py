"""A GRU's cell against torch's, and the written-out gradient against autograd's."""

import pytest
import torch
from torch import nn

from multitudes.seq2set.network.gru_cell import CellInputs, advance, gru_cell, retreat
from tests.triton_kernels import compile_for_a_gpu, run_interpreted


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
    advance(read, hidden, rounded)
    torch.testing.assert_close(hidden, after.detach())
    torch.testing.assert_close(rounded, after.detach())
    to_inputs, to_gates = torch.empty_like(read.inputs), torch.empty_like(read.gates)
    retreat(read, before.detach(), grad, (more,), to_inputs, to_gates)
    torch.testing.assert_close(to_inputs, inputs.grad)
    torch.testing.assert_close(to_gates, gates.grad)
    torch.testing.assert_close(grad, before.grad)


KERNELS = """
import torch
from multitudes.deep.ops.cell import advance_on_device, retreat_on_device
from multitudes.seq2set.network.gru_cell import CellInputs, Dropped, advance, retreat

torch.manual_seed(0)
for has_bias, ragged, two, kind in [
    (True, True, True, torch.float32), (False, False, False, torch.float32),
    (True, False, True, torch.float16), (False, True, False, torch.float16),
]:
    wide = [torch.randn(2, 5, 4, 13).to(kind) for _ in range(2)]
    inputs, gates = (w[:, 3, :, :9] for w in wide)  # rows and groups with gaps between them
    bias = torch.randn(2, 9) if has_bias else None
    active = torch.tensor([True, False, True, False]) if ragged else None
    read = CellInputs(inputs, gates, bias, active)
    before = torch.randn(2, 4, 3)
    results = []
    for step in (advance_on_device, advance):
        hidden, states = before.clone(), torch.zeros(2, 7, 4, 3, dtype=kind)
        step(read, hidden, states[:, 2])
        results.append((hidden, states))
    torch.testing.assert_close(*results, atol=1e-3 if kind == torch.float16 else 1e-6, rtol=1e-5)
    results = []
    rows, mask = torch.randn(4, 11).to(kind), torch.rand(4, 12)[:, 1:].to(kind)  # with gaps too
    for step in (advance_on_device, advance):
        own, features = before[:1].clone(), rows.clone()
        out = torch.zeros(4, 15, dtype=kind)
        dropped = Dropped(features, mask, out[:, :11])
        one = CellInputs(inputs[:1], gates[:1], None if bias is None else bias[:1], active)
        step(one, own, features[None, :, :3], dropped)
        results.append((own, features, out))
    torch.testing.assert_close(*results, atol=2e-3 if kind == torch.float16 else 1e-6, rtol=1e-5)
    torch.testing.assert_close(results[0][2][:, :11], results[0][1] * mask)
    arriving = tuple(torch.randn(2, 6, 4, 3).to(kind)[:, i] for i in range(1 + two))
    results, grad = [], torch.randn(2, 4, 3)
    for step in (retreat_on_device, retreat):
        own, outs = grad.clone(), [torch.zeros_like(w) for w in wide]
        step(read, before.to(kind), own, arriving, *(out[:, 3, :, :9] for out in outs))
        results.append((own, *outs))
    torch.testing.assert_close(*results, atol=1e-3 if kind == torch.float16 else 1e-6, rtol=1e-3)
"""


def test_the_kernels_agree_with_tensor_operations():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(KERNELS)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops.cell import _advance_kernel, _retreat_kernel

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
    compile_for_a_gpu(_advance_kernel, forward, {**constants, "DROPS": True})
    pointers = ("before", "first", "second", "to_inputs", "to_gates")
    more = ("before_group", "before_row", "first_group", "first_row", "second_group", "second_row")
    backward = {
        **read,
        **dict.fromkeys(pointers, f"*{kind}"),
        "grad": "*fp32",
        **dict.fromkeys((*sizes, *more, "size"), "i32"),
    }
    compile_for_a_gpu(_retreat_kernel, backward, {**constants, "TWO": True})
