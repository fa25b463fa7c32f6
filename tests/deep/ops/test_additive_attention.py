"""Attention in place against the module's, and gradients against autograd's."""

import pytest
import torch

from multitudes.deep.ops.additive_attention import bias_of, spans_of
from multitudes.seq2set.network.attention import SharedAttention
from tests.deep.ops.forms import attention_problem, by_steps
from tests.triton_kernels import compile_for_a_gpu

PROBLEMS = [
    ((4,), [(4,), (1,)]),
    ((4, 3), [(4, 2), (2, 1), (1, 3)]),
    ((9, 8), [(9, 8), (3, 1)]),
]


@pytest.mark.parametrize("given", PROBLEMS)
def test_steps_and_gradients_are_those_of_the_module(given):
    torch.manual_seed(0)
    to, queries, to_contexts = attention_problem(*given)
    keys, values, energy, free = (
        part.clone().requires_grad_() for part in (to.keys, to.values, to.energy, queries)
    )
    module, weight = SharedAttention(6, 5).double(), {"energy.weight": energy[None]}
    bias = bias_of(to.spans, keys.shape[1])
    expected = torch.stack(
        [torch.func.functional_call(module, weight, (query, keys, values, bias)) for query in free]
    )
    expected.backward(to_contexts)
    contexts, _, *gradients = by_steps(to, queries, to_contexts)
    torch.testing.assert_close(contexts, expected.detach())
    torch.testing.assert_close(gradients, [free.grad, keys.grad, energy.grad, values.grad])


def test_spans_are_where_bias_is_0():
    spans = torch.tensor([[[0, 3], [4, 5]], [[0, 1], [4, 7]]], dtype=torch.int32)
    bias = bias_of(spans, 7)
    assert bias[0].tolist()[1] == [-torch.inf] * 4 + [0.0] + [-torch.inf] * 2
    torch.testing.assert_close(spans_of(bias), spans)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernels_compile_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops import additive_attention as kernels

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
