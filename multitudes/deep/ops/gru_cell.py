"""A GRU's cell, and the same in place with its gradient written out, for loops that own buffers.

Autograd makes a dozen kernels of a cell, and a dozen more of its gradient; `cell_forward` and
`cell_backward` are one each. One program does one row of one GRU. Gates are computed again
backwards, from the same products. g is the number of GRUs side by side, e.g. one for each
direction.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from multitudes.deep.ops.switch import jit, runs_kernel, tl, triton


class CellInputs(NamedTuple):
    """What a cell reads at a step, beside its state.

    Parameters
    ----------
    inputs, gates : (g, b, 3 h)
        Products with the input and with the state before: of reset, update and new gate.
    bias : (g, 3 h), optional
        To be added to `gates`.
    active : bool (b,), optional
        Rows that go on; others keep their state. By default all.
    """

    inputs: Tensor
    gates: Tensor
    bias: Tensor | None = None
    active: Tensor | None = None


class Dropped(NamedTuple):
    """Features that begin with the state, to be multiplied with a mask as soon as they are whole.

    Parameters
    ----------
    features, mask : IN (b, z)
    out : OUT (b, z)
    """

    features: Tensor
    mask: Tensor
    out: Tensor


def gru_cell(inputs: Tensor, gates: Tensor, hidden: Tensor) -> Tensor:
    """A GRU's next state (..., h), given its products with input and state, (..., 3 h) each."""
    _, update, new, _ = _plain_gates(inputs, gates)  # (..., h) each
    return new + update * (hidden - new)


def cell_forward(
    read: CellInputs, hidden: Tensor, rounded: Tensor, dropped: Dropped | None = None
) -> None:
    """One step: `hidden` IN/OUT (g, b, h), float32 at least; `rounded` OUT (g, b, h) its copy.

    With `dropped`, `rounded` is where its features begin, and g is 1.
    """
    if _takes_kernel(hidden):
        _launch_forward(read, hidden, rounded, dropped)
        return
    inputs, gates = _in_precision_of(hidden, read)  # (g, b, 3 h) each
    new = gru_cell(inputs, gates, hidden)  # (g, b, h)
    hidden.copy_(new if read.active is None else torch.where(read.active[:, None], new, hidden))
    rounded.copy_(hidden)
    if dropped is not None:
        torch.mul(dropped.features, dropped.mask, out=dropped.out)


def cell_backward(
    read: CellInputs,
    before: Tensor,
    grad: Tensor,
    arriving: tuple[Tensor, ...],
    to_inputs: Tensor,
    to_gates: Tensor,
) -> None:
    """The gradient of `cell_forward`.

    Parameters
    ----------
    read : CellInputs
        As `cell_forward` had them.
    before : IN (g, b, h)
        The state that the step began with.
    grad : IN/OUT (g, b, h)
        Gradient to the state behind the step, without `arriving`; then what of it reaches the state
        before the step past the gates. In the precision of states.
    arriving : one or two (g, b, h)
        To be added to `grad` first.
    to_inputs, to_gates : OUT (g, b, 3 h)
    """
    if _takes_kernel(grad):
        _launch_backward(read, before, grad, arriving, to_inputs, to_gates)
        return
    reset, update, new, of_state = _plain_gates(*_in_precision_of(grad, read))  # (g, b, h) each
    for part in arriving:
        grad += part
    to_new = grad * (1 - update) * (1 - new * new)  # (g, b, h)
    to_update = grad * (before - new) * update * (1 - update)  # (g, b, h)
    to_reset = to_new * of_state * reset * (1 - reset)  # (g, b, h)
    past = grad * update  # (g, b, h)
    parts = [to_reset, to_update, to_new, to_new * reset]
    if read.active is not None:
        active = read.active[:, None]  # (b, 1)
        parts = [torch.where(active, part, 0.0) for part in parts]
        past = torch.where(active, past, grad)
    grad.copy_(past)
    to_inputs.copy_(torch.cat(parts[:3], dim=2))
    to_gates.copy_(torch.cat([*parts[:2], parts[3]], dim=2))


def _plain_gates(inputs: Tensor, gates: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reset, update and new gate, and the state's product within the last; (..., h) each."""
    reset_in, update_in, new_in = inputs.chunk(3, dim=-1)  # (..., h) each
    reset_state, update_state, new_state = gates.chunk(3, dim=-1)  # (..., h) each
    reset = torch.sigmoid(reset_in + reset_state)  # (..., h)
    update = torch.sigmoid(update_in + update_state)  # (..., h)
    return reset, update, torch.tanh(new_in + reset * new_state), new_state


def _in_precision_of(hidden: Tensor, read: CellInputs) -> tuple[Tensor, Tensor]:
    """Inputs and gates, bias included."""
    gates = read.gates.to(hidden.dtype)  # (g, b, 3 h)
    if read.bias is not None:
        gates = gates + read.bias[:, None]
    return read.inputs.to(hidden.dtype), gates


def _takes_kernel(hidden: Tensor) -> bool:
    return hidden.dtype == torch.float32 and runs_kernel("gru_cell", hidden.device)


# -------------------------------------------------------------------- kernels


@jit()
def tanh(x):
    """From sigmoid, which every version of Triton has."""
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@jit()
def _gates(inputs, gates, bias, size, lane, HAS_BIAS: tl.constexpr):
    """Reset, update and new gate of the row pointed to, and the state's product in the last."""
    inside = lane < size
    reset_in = tl.load(inputs + lane, mask=inside, other=0.0).to(tl.float32)
    update_in = tl.load(inputs + size + lane, mask=inside, other=0.0).to(tl.float32)
    new_in = tl.load(inputs + 2 * size + lane, mask=inside, other=0.0).to(tl.float32)
    of_reset = tl.load(gates + lane, mask=inside, other=0.0).to(tl.float32)
    of_update = tl.load(gates + size + lane, mask=inside, other=0.0).to(tl.float32)
    of_new = tl.load(gates + 2 * size + lane, mask=inside, other=0.0).to(tl.float32)
    if HAS_BIAS:
        of_reset += tl.load(bias + lane, mask=inside, other=0.0).to(tl.float32)
        of_update += tl.load(bias + size + lane, mask=inside, other=0.0).to(tl.float32)
        of_new += tl.load(bias + 2 * size + lane, mask=inside, other=0.0).to(tl.float32)
    reset = tl.sigmoid(reset_in + of_reset)
    update = tl.sigmoid(update_in + of_update)
    return reset, update, tanh(new_in + reset * of_new), of_new


@jit()
def _forward_kernel(
    inputs,  # IN (g, b, 3 h)
    gates,  # IN (g, b, 3 h)
    bias,  # IN (g, 3 h)
    active,  # IN bool (b,)
    hidden,  # IN/OUT float32 (g, b, h)
    rounded,  # OUT (g, b, h), or with DROPS IN/OUT (b, z): the state's part is OUT
    mask,  # IN (b, z)
    dropped,  # OUT (b, z)
    inputs_group,
    inputs_row,
    gates_group,
    gates_row,
    rounded_group,
    rounded_row,
    mask_row,
    dropped_row,
    size,
    width,
    HAS_BIAS: tl.constexpr,
    RAGGED: tl.constexpr,
    DROPS: tl.constexpr,
    LANES: tl.constexpr,
):
    row, group = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    lane = tl.arange(0, LANES)
    inside = lane < size
    _, update, new, _ = _gates(
        inputs + group * inputs_group + row * inputs_row,
        gates + group * gates_group + row * gates_row,
        bias + group * 3 * size,
        size,
        lane,
        HAS_BIAS,
    )
    at = hidden + (group * tl.num_programs(0) + row) * size + lane
    before = tl.load(at, mask=inside, other=0.0)
    after = new + update * (before - new)
    if RAGGED:
        after = tl.where(tl.load(active + row) != 0, after, before)
    tl.store(at, after, mask=inside)
    out = rounded + group * rounded_group + row * rounded_row
    kind = rounded.dtype.element_ty
    tl.store(out + lane, after.to(kind), mask=inside)
    if DROPS:
        mask += row * mask_row
        dropped += row * dropped_row
        kept = tl.load(mask + lane, mask=inside, other=0.0).to(tl.float32)
        tl.store(dropped + lane, (after.to(kind).to(tl.float32) * kept).to(kind), mask=inside)
        for first in range(size, width, LANES):
            place = first + lane
            kept = tl.load(mask + place, mask=place < width, other=0.0).to(tl.float32)
            part = tl.load(out + place, mask=place < width, other=0.0).to(tl.float32)
            tl.store(dropped + place, (part * kept).to(kind), mask=place < width)


@jit()
def _backward_kernel(
    inputs,  # IN (g, b, 3 h)
    gates,  # IN (g, b, 3 h)
    bias,  # IN (g, 3 h)
    active,  # IN bool (b,)
    before,  # IN (g, b, h)
    grad,  # IN/OUT float32 (g, b, h)
    first,  # IN (g, b, h)
    second,  # IN (g, b, h)
    to_inputs,  # OUT (g, b, 3 h), strides of `inputs`
    to_gates,  # OUT (g, b, 3 h), strides of `gates`
    inputs_group,
    inputs_row,
    gates_group,
    gates_row,
    before_group,
    before_row,
    first_group,
    first_row,
    second_group,
    second_row,
    size,
    HAS_BIAS: tl.constexpr,
    RAGGED: tl.constexpr,
    TWO: tl.constexpr,
    LANES: tl.constexpr,
):
    row, group = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    lane = tl.arange(0, LANES)
    inside = lane < size
    of_inputs = group * inputs_group + row * inputs_row
    of_gates = group * gates_group + row * gates_row
    reset, update, new, of_new = _gates(
        inputs + of_inputs, gates + of_gates, bias + group * 3 * size, size, lane, HAS_BIAS
    )
    old = tl.load(before + group * before_group + row * before_row + lane, mask=inside, other=0.0)
    at = grad + (group * tl.num_programs(0) + row) * size + lane
    whole = tl.load(at, mask=inside, other=0.0)
    place = group * first_group + row * first_row + lane
    whole += tl.load(first + place, mask=inside, other=0.0).to(tl.float32)
    if TWO:
        place = group * second_group + row * second_row + lane
        whole += tl.load(second + place, mask=inside, other=0.0).to(tl.float32)
    to_new = whole * (1.0 - update) * (1.0 - new * new)
    to_update = whole * (old.to(tl.float32) - new) * update * (1.0 - update)
    to_reset = to_new * of_new * reset * (1.0 - reset)
    past = whole * update
    if RAGGED:
        goes_on = tl.load(active + row) != 0
        to_new = tl.where(goes_on, to_new, 0.0)
        to_update = tl.where(goes_on, to_update, 0.0)
        to_reset = tl.where(goes_on, to_reset, 0.0)
        past = tl.where(goes_on, past, whole)
    tl.store(at, past, mask=inside)
    kind = to_inputs.dtype.element_ty
    tl.store(to_inputs + of_inputs + lane, to_reset.to(kind), mask=inside)
    tl.store(to_inputs + of_inputs + size + lane, to_update.to(kind), mask=inside)
    tl.store(to_inputs + of_inputs + 2 * size + lane, to_new.to(kind), mask=inside)
    kind = to_gates.dtype.element_ty
    tl.store(to_gates + of_gates + lane, to_reset.to(kind), mask=inside)
    tl.store(to_gates + of_gates + size + lane, to_update.to(kind), mask=inside)
    tl.store(to_gates + of_gates + 2 * size + lane, (to_new * reset).to(kind), mask=inside)


def _launch_forward(
    read: CellInputs, hidden: Tensor, rounded: Tensor, dropped: Dropped | None = None
) -> None:
    """Rows of all tensors are contiguous."""
    n_groups, n, size = hidden.shape
    mask, out = (rounded[0], rounded[0]) if dropped is None else dropped[1:]
    _forward_kernel[(n, n_groups)](
        read.inputs, read.gates, hidden if read.bias is None else read.bias,
        hidden if read.active is None else read.active, hidden, rounded, mask, out,
        *read.inputs.stride()[:2], *read.gates.stride()[:2], *rounded.stride()[:2],
        mask.stride(0), out.stride(0), size, mask.shape[1], DROPS=dropped is not None,
        **_settings(read, size),
    )  # fmt: skip


def _launch_backward(
    read: CellInputs,
    before: Tensor,
    grad: Tensor,
    arriving: tuple[Tensor, ...],
    to_inputs: Tensor,
    to_gates: Tensor,
) -> None:
    """Rows of all tensors are contiguous."""
    n_groups, n, size = grad.shape
    _backward_kernel[(n, n_groups)](
        read.inputs, read.gates, grad if read.bias is None else read.bias,
        grad if read.active is None else read.active, before, grad, arriving[0], arriving[-1],
        to_inputs, to_gates, *read.inputs.stride()[:2], *read.gates.stride()[:2],
        *before.stride()[:2], *arriving[0].stride()[:2], *arriving[-1].stride()[:2], size,
        TWO=len(arriving) == 2, **_settings(read, size),
    )  # fmt: skip


def _settings(read: CellInputs, size: int) -> dict[str, int]:
    lanes = max(32, triton.next_power_of_2(size))
    return {
        "HAS_BIAS": read.bias is not None,
        "RAGGED": read.active is not None,
        "LANES": lanes,
        "num_warps": min(8, max(1, lanes // 128)),
    }
