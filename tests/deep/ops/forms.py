"""Problems that both forms of each operation must solve alike: the plain one and the kernel.

On CUDA, or on a CPU in Triton's interpreter (``TRITON_INTERPRET=1``), where tiles are small, so
that small problems take several.
"""

import numpy as np
import torch

from multitudes.deep.ops import additive_attention, gelu, label_choice, residual_norm
from multitudes.deep.ops.additive_attention import Attended, Attention
from multitudes.deep.ops.depthwise_conv import depthwise_conv
from multitudes.deep.ops.gru_cell import CellInputs, Dropped, cell_backward, cell_forward
from multitudes.deep.ops.short_attention import text_attention
from multitudes.deep.ops.switch import kernels
from multitudes.deep.ops.transport import Iterations, transport_distances
from multitudes.deep.texts.tokens import TokenRows, pack
from multitudes.seq2set.losses.step_matching import Matcher


def check(operation, device):
    """Raise where the forms of an operation differ."""
    torch.manual_seed(0)
    if device == "cpu":
        additive_attention.KEY_LANES = additive_attention.VALUE_LANES = 4
        label_choice.AT_ONCE = 16
        residual_norm.CELLS, residual_norm.PROGRAMS = 256, 2
        gelu.CELLS, gelu.ROWS, gelu.COLUMNS, gelu.PROGRAMS = 128, 4, 16, 4
    FORMS[operation](device)


def compare(compute, near=1e-5, **tolerance):
    """Raise where `compute` does not give the same with kernels and without."""
    results = []
    for setting in ("on", "off"):
        with kernels(setting):
            results.append(compute())
    torch.testing.assert_close(*results, **({"atol": near, "rtol": near} | tolerance))


def gru_cell(device):
    for has_bias, ragged, two, kind in [
        (True, True, True, torch.float32),
        (False, False, False, torch.float32),
        (True, False, True, torch.float16),
        (False, True, False, torch.float16),
    ]:
        near = 2e-3 if kind == torch.float16 else 1e-5
        wide = [torch.randn(2, 5, 4, 13).to(device, kind) for _ in range(2)]
        inputs, gates = (w[:, 3, :, :9] for w in wide)  # rows and groups with gaps between them
        bias = torch.randn(2, 9, device=device) if has_bias else None
        active = torch.tensor([True, False, True, False], device=device) if ragged else None
        read = CellInputs(inputs, gates, bias, active)
        before = torch.randn(2, 4, 3, device=device)
        rows = torch.randn(4, 11).to(device, kind)
        mask = torch.rand(4, 12).to(device, kind)[:, 1:]  # with gaps too
        grad = torch.randn(2, 4, 3, device=device)
        arriving = tuple(torch.randn(2, 6, 4, 3).to(device, kind)[:, i] for i in range(1 + two))

        def forward(read=read, before=before, kind=kind):
            hidden, states = before.clone(), torch.zeros(2, 7, 4, 3, dtype=kind, device=device)
            cell_forward(read, hidden, states[:, 2])
            return hidden, states

        def dropping(read=read, before=before, rows=rows, mask=mask, kind=kind):
            own, features = before[:1].clone(), rows.clone()
            out = torch.zeros(4, 15, dtype=kind, device=device)
            one = CellInputs(*(None if part is None else part[:1] for part in read[:3]), read[3])
            dropped = Dropped(features, mask, out[:, :11])
            cell_forward(one, own, features[None, :, :3], dropped)
            torch.testing.assert_close(out[:, :11], features * mask)
            return own, features, out

        def backward(read=read, before=before, grad=grad, wide=wide, arriving=arriving, kind=kind):
            own, outs = grad.clone(), [torch.zeros_like(w) for w in wide]
            cell_backward(read, before.to(kind), own, arriving, *(o[:, 3, :, :9] for o in outs))
            return (own, *outs)

        for compute in (forward, dropping, backward):
            compare(compute, near)


def attention_problem(sizes, lengths, *, n_steps=3, h=5, w=6, kind=torch.float64, device="cpu"):
    """Memories of some sizes, each text with lengths of its own in them."""
    n, m = len(lengths), sum(sizes)
    values, keys = torch.randn(n, m, w).to(kind), torch.randn(n, m, h).to(kind)
    spans = torch.empty(n, len(sizes), 2, dtype=torch.int32)
    for row, ends in enumerate(lengths):
        first = 0
        for memory, (size, end) in enumerate(zip(sizes, ends, strict=True)):
            spans[row, memory] = torch.tensor([first, first + end])
            first += size
    to = Attended(keys, values, spans, torch.randn(h).to(kind))
    queries = torch.randn(n_steps, n, h + 2).to(kind)[:, :, 2:]
    to_contexts = torch.randn(n_steps, n, len(sizes) * w).to(kind)
    to = Attended(*(part.to(device) for part in to))
    return to, queries.to(device), to_contexts.to(device)


def by_steps(to, queries, to_contexts):
    """Contexts (N, b, c), and gradients of energies, queries, keys, energy, values."""
    n_steps, n, h = queries.shape
    m, n_memories, own = to.keys.shape[1], to.spans.shape[1], {"device": queries.device}
    kind = torch.promote_types(to.keys.dtype, torch.float32)
    wide = torch.zeros(n_steps, n, to_contexts.shape[2] + 3, dtype=queries.dtype, **own)
    contexts = wide[:, :, 3:]  # rows apart
    found = Attention(
        torch.zeros(n_steps, n, m, dtype=kind, **own),
        torch.empty(n_steps, n, n_memories, dtype=kind, **own),
    )
    to_energies = torch.zeros_like(found.energies)
    to_queries = torch.zeros(n_steps, n, h + 4, dtype=queries.dtype, **own)[:, :, :h]
    for t in range(n_steps):
        one = Attention(found.energies[t], found.totals[t])
        additive_attention.attend(to, queries[t], one, contexts[t])
        both = (contexts[t], to_contexts[t])
        additive_attention.attend_backward(to, queries[t], one, both, to_energies[t], to_queries[t])
    to_keys, to_energy = additive_attention.gradient_of_keys(to, queries, to_energies)
    given = torch.zeros_like(wide)[:, :, 3:].copy_(to_contexts)
    to_values = additive_attention.gradient_of_values(to.spans, found, given)
    return contexts, to_energies, to_queries, to_keys, to_energy, to_values


def attention_of_steps(device):
    for sizes, lengths, kind in [
        ((4,), [(4,), (1,)], torch.float32),
        ((9, 8), [(9, 8), (3, 1), (8, 2)], torch.float32),
        ((17, 3), [(9, 1), (16, 1)], torch.float16),
        ((40, 1), [(33, 1), (2, 1)], torch.float32),
        ((16,), [(16,), (9,), (1,)], torch.float16),
        ((3, 20), [(3, 20), (1, 17), (2, 8)], torch.float32),
    ]:
        given = attention_problem(sizes, lengths, kind=kind, device=device)
        compare(lambda given=given: by_steps(*given), 1e-5 if kind == torch.float32 else 1e-2)


def convolution(device):
    sizes = [
        (2, 9, 3, 3, 1, 9), (3, 30, 130, 11, 3, 30), (1, 4, 2, 4, 2, 4), (2, 23, 5, 2, 3, 31),
        (2, 20, 5, 9, 4, 21), (2, 5, 3, 9, 1, 12), (2, 50, 3, 50, 3, 50), (3, 62, 3, 44, 3, 62),
        (2, 48, 3, 3, 1, 52), (1, 20, 2, 1, 1, 20),
    ]  # fmt: skip
    for n, length, c, width, stride, counts_for in sizes:
        given = torch.randn(n, length, c, device=device), torch.randn(c, width, device=device)
        upon = torch.randn(n, (counts_for - width) // stride + 1, c, device=device)

        def compute(given=given, upon=upon, stride=stride, counts_for=counts_for):
            x, kernel = (part.clone().requires_grad_() for part in given)
            relu = counts_for > x.shape[1]
            out = depthwise_conv(x, kernel, stride, length=counts_for, relu=relu)
            out.backward(upon)
            return out.detach(), x.grad, kernel.grad

        compare(compute, 1e-4)


def choice(device):
    for n_symbols, kind, has_mask in [(5, torch.float32, True), (50, torch.float16, False)]:
        logits = torch.randint(0, 4, (6, n_symbols)).to(device, kind)  # many ties
        logits[5] = -torch.inf
        bias = torch.randint(0, 3, (n_symbols,), device=device).float()
        table = torch.randn(n_symbols + 1, 3, device=device)
        mask = torch.rand(6, 3, device=device) if has_mask else None

        def compute(logits=logits, bias=bias, table=table, mask=mask, kind=kind):
            symbols = torch.zeros(6, dtype=torch.int64, device=device)
            wide = torch.zeros(6, 8, dtype=kind, device=device)
            label_choice.choose_labels(logits, bias, table, mask, symbols, wide[:, 5:])
            return symbols, wide

        compare(compute, 0)
        logits[0] = torch.nan
        assert 0 <= int(compute()[0][0]) < n_symbols


def matching(device):
    rng = np.random.default_rng(0)
    for n, n_steps, width in [(8, 7, 4), (6, 5, 5), (2, 1, 1), (0, 3, 2), (2, 3, 0), (2, 17, 9)]:
        gain = rng.random((n, n_steps, width), np.float32) ** 4
        gain[::3] = rng.integers(0, 3, gain[::3].shape)  # ties
        n_targets = rng.integers(0, width + 1, n)
        n_targets[:2] = [width, 0][:n]
        given = [torch.from_numpy(part).to(device) for part in (gain, n_targets)]
        for scheme in ("all", "first-n"):
            with Matcher(scheme, n_jobs=1) as matcher:
                compare(lambda given=given, own=matcher: own.start(*given).steps(), 0)
    # Gains that are no numbers end the search too.
    gain = torch.rand(4, 5, 4)
    gain[torch.rand(gain.shape) < 0.5] = torch.nan
    gain[0] = torch.inf
    n_targets = torch.tensor([4, 4, 3, 4])
    with Matcher() as matcher:
        steps = matcher.start(gain.to(device), n_targets.to(device)).steps()
    for row in steps.tolist():
        placed = [step for step in row if step >= 0]
        assert len(set(placed)) == len(placed) >= 3
        assert max(placed) < 5


def attention_within_texts(device):
    for lengths in [[3, 1, 9], [16], [20, 2], [1, 33, 5, 17]]:
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        packed = pack(
            TokenRows(np.ones(offsets[-1], np.int32), offsets), device=device, round_up_to=8
        )
        qkv = torch.randn(len(packed.ids), 3, 2, 16, device=device)
        weight = torch.randn(len(packed.ids), 2, 16, device=device)
        real = packed.texts < len(packed)
        seed = torch.tensor([3], device=device)

        bias = torch.randn(2, 40, 40, device=device)

        def compute(bias, window, qkv=qkv, weight=weight, real=real, packed=packed, seed=seed):
            own = qkv.clone().requires_grad_()
            bias = None if bias is None else bias.clone().requires_grad_()
            out = text_attention(own, packed, seed=seed, dropout=0.0, bias=bias, window=window)
            (out * weight)[real].sum().backward()
            found = out.detach()[real], own.grad[real]
            return found if bias is None else (*found, bias.grad)

        # Products of a GPU's matrix units, in both forms.
        near = 1e-4 if device == "cpu" else 5e-3
        compare(lambda compute=compute: compute(None, 0), near)
        compare(lambda bias=bias, compute=compute: compute(bias, 0), near)
        compare(lambda compute=compute: compute(None, 4), near)


def activation(device):
    for n, c, kind in [(21, 40, torch.float32), (1, 7, torch.float32), (9, 33, torch.float16)]:
        before, upon = (torch.randn(n, c).to(device, kind) for _ in range(2))

        def compute(before=before, upon=upon):
            grad, sums = upon.clone(), torch.empty(before.shape[1], device=device)
            gelu.gelu_backward(grad, before, sums=sums)
            return gelu.gelu_forward(before), grad, sums

        compare(compute, 1e-5 if kind == torch.float32 else 1e-2)


def norm(device):
    for n, dim, kind, share in [
        (37, 40, torch.float32, 0.0),
        (1, 33, torch.float32, 0.3),
        (30, 64, torch.float32, 0.1),
        (6, 64, torch.float16, 0.3),
    ]:
        change, states, upon = (torch.randn(n, dim).to(device, kind) for _ in range(3))
        vectors = (1 + torch.randn(3, dim)).to(device, kind)
        dropping = residual_norm.Dropping(torch.tensor([3], device=device), share)

        def compute(change=change, states=states, upon=upon, vectors=vectors, dropping=dropping):
            made = residual_norm.norm_forward(
                change, states, vectors, epsilon=1e-5, dropping=dropping
            )
            sums = torch.empty(vectors.shape, device=device)
            grads = residual_norm.norm_backward(upon, made, vectors, dropping=dropping, sums=sums)
            return *made, *grads, sums

        compare(compute, 1e-4 if kind == torch.float32 else 3e-2)


def transport(device):
    iterations = Iterations(beta=0.5, n_outer=20, n_inner=2)
    for n, n_rows, n_columns, d in [(4, 7, 3, 5), (2, 1, 1, 40), (3, 19, 17, 70), (0, 3, 2, 4)]:
        by_step = torch.randn(n_rows, n, d, device=device)
        wide = torch.randn(n, n_rows, d + 1, device=device)
        targets = torch.randn(n, n_columns, d, device=device)
        there = torch.arange(n_columns) < torch.randint(0, n_columns + 1, (n, 1))
        there = there.to(device)
        turned = by_step.transpose(0, 1)
        for given in (turned, turned.contiguous().clone(), wide[:, :, 1:]):
            given[:1, 0] = 0  # a vector without a direction
            real = given.norm(dim=2) > 0

            def compute(given=given, targets=targets, there=there, real=real):
                expected = given.detach().requires_grad_()
                distances = transport_distances(expected, targets, there, iterations)
                (gradient,) = torch.autograd.grad(distances.sum(), expected)
                return distances.detach(), gradient[real]

            compare(compute, atol=1e-5, rtol=1e-3)


FORMS = {
    "additive_attention": attention_of_steps,
    "depthwise_conv": convolution,
    "gelu": activation,
    "gru_cell": gru_cell,
    "label_choice": choice,
    "matching": matching,
    "residual_norm": norm,
    "short_attention": attention_within_texts,
    "transport": transport,
}
