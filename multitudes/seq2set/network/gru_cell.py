"""A GRU's cell, and the same in place with its gradient written out, for loops that own buffers.

Autograd makes a dozen kernels of a cell, and a dozen more of its gradient. `advance` and `retreat`
are one kernel each where the device runs Triton (`multitudes.deep.ops.cell`), and plain
tensor operations elsewhere. g is the number of GRUs side by side, e.g. one for each direction.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from multitudes.deep.ops.triton_support import runs_triton


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
    _, update, new, _ = _gates(inputs, gates)  # (..., h) each
    return new + update * (hidden - new)


def advance(
    read: CellInputs, hidden: Tensor, rounded: Tensor, dropped: Dropped | None = None
) -> None:
    """One step: `hidden` IN/OUT (g, b, h), float32 at least; `rounded` OUT (g, b, h) its copy.

    With `dropped`, `rounded` is where its features begin, and g is 1.
    """
    if _on_device(hidden):
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.cell import advance_on_device

        advance_on_device(read, hidden, rounded, dropped)
        return
    inputs, gates = _in_precision_of(hidden, read)  # (g, b, 3 h) each
    new = gru_cell(inputs, gates, hidden)  # (g, b, h)
    hidden.copy_(new if read.active is None else torch.where(read.active[:, None], new, hidden))
    rounded.copy_(hidden)
    if dropped is not None:
        torch.mul(dropped.features, dropped.mask, out=dropped.out)


def retreat(
    read: CellInputs,
    before: Tensor,
    grad: Tensor,
    arriving: tuple[Tensor, ...],
    to_inputs: Tensor,
    to_gates: Tensor,
) -> None:
    """The gradient of `advance`.

    Parameters
    ----------
    read : CellInputs
        As `advance` had them.
    before : IN (g, b, h)
        The state that the step began with.
    grad : IN/OUT (g, b, h)
        Gradient to the state behind the step, without `arriving`; then what of it reaches the state
        before the step past the gates. In the precision of states.
    arriving : one or two (g, b, h)
        To be added to `grad` first.
    to_inputs, to_gates : OUT (g, b, 3 h)
    """
    if _on_device(grad):
        from multitudes.deep.ops.cell import retreat_on_device

        retreat_on_device(read, before, grad, arriving, to_inputs, to_gates)
        return
    reset, update, new, of_state = _gates(*_in_precision_of(grad, read))  # (g, b, h) each
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


def _gates(inputs: Tensor, gates: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
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


def _on_device(hidden: Tensor) -> bool:
    return runs_triton(hidden.device, "cell") and hidden.dtype == torch.float32
