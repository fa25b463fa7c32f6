"""Attention in place against the module's, gradients against autograd's, kernels against both."""

import inspect

import pytest
import torch

from multitudes.seq2set.network.attention import SharedAttention
from multitudes.seq2set.network.attention_steps import (
    Attended,
    Attention,
    attend,
    attend_backwards,
    bias_of,
    gradient_of_keys,
    gradient_of_values,
    spans_of,
)
from tests.triton_kernels import compile_for_a_gpu, run_interpreted

PROBLEMS = [
    ((4,), [(4,), (1,)]),
    ((4, 3), [(4, 2), (2, 1), (1, 3)]),
    ((9, 8), [(9, 8), (3, 1)]),
]


def problem(sizes, lengths, *, n_steps=3, h=5, w=6, kind=torch.float64):
    """Memories of some sizes, each text with lengths of its own in them."""
    torch.manual_seed(0)
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
    return to, queries, to_contexts


def found_by_steps(to, queries, to_contexts):
    """Contexts (N, b, c), and gradients of keys, values, energy, queries."""
    n_steps, n, _ = queries.shape
    m, n_memories = to.keys.shape[1], to.spans.shape[1]
    contexts = torch.empty_like(to_contexts)
    kind = torch.promote_types(to.keys.dtype, torch.float32)
    found = Attention(
        torch.zeros(n_steps, n, m, dtype=kind), torch.empty(n_steps, n, n_memories, dtype=kind)
    )
    to_energies, to_queries = torch.zeros_like(found.energies), torch.empty_like(queries)
    for t in range(n_steps):
        attend(to, queries[t], Attention(found.energies[t], found.totals[t]), contexts[t])
    for t in range(n_steps):
        one = Attention(found.energies[t], found.totals[t])
        both = (contexts[t], to_contexts[t])
        attend_backwards(to, queries[t], one, both, to_energies[t], to_queries[t])
    to_keys, to_energy = gradient_of_keys(to, queries, to_energies)
    return (
        contexts,
        to_keys,
        gradient_of_values(to.spans, found, to_contexts),
        to_energy,
        to_queries,
    )


@pytest.mark.parametrize("given", PROBLEMS)
def test_steps_and_gradients_are_those_of_the_module(given):
    to, queries, to_contexts = problem(*given)
    keys, values, energy, free = (
        part.clone().requires_grad_() for part in (to.keys, to.values, to.energy, queries)
    )
    module, weight = SharedAttention(6, 5).double(), {"energy.weight": energy[None]}
    bias = bias_of(to.spans, keys.shape[1])
    expected = torch.stack(
        [torch.func.functional_call(module, weight, (query, keys, values, bias)) for query in free]
    )
    expected.backward(to_contexts)
    found = found_by_steps(to, queries, to_contexts)
    wanted = (expected.detach(), keys.grad, values.grad, energy.grad, free.grad)
    torch.testing.assert_close(found, wanted)


def test_spans_are_where_bias_is_0():
    spans = torch.tensor([[[0, 3], [4, 5]], [[0, 1], [4, 7]]], dtype=torch.int32)
    bias = bias_of(spans, 7)
    assert bias[0].tolist()[1] == [-torch.inf] * 4 + [0.0] + [-torch.inf] * 2
    torch.testing.assert_close(spans_of(bias), spans)


KERNELS = """
import torch
from multitudes.seq2set.network.attention_steps import Attended, Attention
from multitudes.seq2set.network import attention_steps as plain
from multitudes.deep.ops import attention as kernels
from multitudes.deep.ops import values as device_values

{problem}

kernels.KEY_LANES = kernels.VALUE_LANES = device_values.LANES = 4
device_values.STEPS = 2
for sizes, lengths, kind, near in [
    ((4,), [(4,), (1,)], torch.float32, 1e-5),
    ((9, 8), [(9, 8), (3, 1), (8, 2)], torch.float32, 1e-5),
    ((17, 3), [(9, 1), (16, 1)], torch.float16, 1e-2),
    ((40, 1), [(33, 1), (2, 1)], torch.float32, 1e-5),
    ((16,), [(16,), (9,), (1,)], torch.float16, 1e-2),
    ((3, 20), [(3, 20), (1, 17), (2, 8)], torch.float32, 1e-5),
]:
    to, queries, to_contexts = problem(sizes, lengths, kind=kind)
    n_steps, n, m = *queries.shape[:2], sum(sizes)
    results = []
    for attend, backwards, of_keys, of_values in [
        (plain.attend, plain.attend_backwards, plain.gradient_of_keys, plain.gradient_of_values),
        (kernels.attend_on_device, kernels.attend_backwards_on_device,
         kernels.gradient_of_keys_on_device, device_values.gradient_of_values_on_device),
    ]:
        wide = torch.zeros(n_steps, n, to_contexts.shape[2] + 3, dtype=kind)  # rows apart
        contexts = wide[:, :, 3:]
        found = Attention(torch.zeros(n_steps, n, m), torch.empty(n_steps, n, len(sizes)))
        to_energies, to_queries = torch.zeros(n_steps, n, m), torch.zeros_like(wide)[:, :, :5]
        for t in range(n_steps):
            one = Attention(found.energies[t], found.totals[t])
            attend(to, queries[t], one, contexts[t])
            both = (contexts[t], to_contexts[t])
            backwards(to, queries[t], one, both, to_energies[t], to_queries[t])
        keys, energy = of_keys(to, queries, to_energies)
        given = torch.zeros_like(wide)[:, :, 3:].copy_(to_contexts)  # rows apart
        results.append(
            (wide, *found, to_energies, to_queries, keys, energy, of_values(to.spans, found, given))
        )
    torch.testing.assert_close(*results, atol=near, rtol=near)
"""


def test_the_kernels_agree_with_tensor_operations():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(KERNELS.replace("{problem}", inspect.getsource(problem)))


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import attention as kernels
    from multitudes.deep.ops.values import _values_kernel

    def types(kernel):
        """Of all arguments, in order: pointers are lower in the list than numbers."""
        full = {"energies", "totals", "to_energies"}
        numbers = {"m", "h", "w", "n_steps"}
        for name in kernel.arg_names:
            if name.isupper():
                continue
            is_number = name in numbers or name.endswith(("_row", "_step"))
            pointer = "*i32" if name == "spans" else "*fp32" if name in full else f"*{kind}"
            yield name, "i32" if is_number else pointer

    sizes = {"N_MEMORIES": 2, "ROWS": 8, "H": 512, "W": 1024, "LANES": 128}
    for kernel in (
        kernels._energies_kernel,
        kernels._contexts_kernel,
        kernels._to_energies_kernel,
        kernels._to_query_kernel,
        kernels._keys_kernel,
    ):
        given = dict(types(kernel))
        given.update({"to_energy": "*fp32"} if "to_energy" in given else {})
        constants = {name: sizes[name] for name in kernel.arg_names if name in sizes}
        compile_for_a_gpu(kernel, given, constants)
    blocks = {"N_MEMORIES": 2, "ROWS": 16, "STEPS": 32, "LANES": 64}
    compile_for_a_gpu(_values_kernel, dict(types(_values_kernel)), blocks)
