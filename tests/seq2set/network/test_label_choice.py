"""The likeliest symbol and its embedding: ties, masks, and the kernel against plain operations."""

import pytest
import torch

from multitudes.seq2set.network.label_choice import choose_labels
from tests.triton_kernels import compile_for_a_gpu, run_interpreted


def test_the_smaller_id_among_equals():
    logits = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, 1.0, 5.0]])
    table = torch.arange(8.0).view(4, 2)
    symbols, fed = torch.empty(3, dtype=torch.int64), torch.empty(3, 2)
    choose_labels(logits, torch.zeros(3), table, None, symbols, fed)
    assert symbols.tolist() == [1, 0, 2]
    assert fed.tolist() == table[symbols].tolist()
    mask = torch.tensor([[0.0, 2.0]]).expand(3, -1)
    choose_labels(logits, torch.zeros(3), table, mask, symbols, fed)
    assert fed.tolist() == [[0, 6], [0, 2], [0, 10]]
    choose_labels(logits, torch.tensor([4.0, 0.0, 0.0]), table, None, symbols, fed)
    assert symbols.tolist() == [0, 0, 2]


KERNEL = """
import torch
from multitudes.deep.ops import choice as device_choice
from multitudes.seq2set.network.label_choice import choose_labels

torch.manual_seed(0)
device_choice.AT_ONCE = 16
for n_symbols, kind, has_mask in [(5, torch.float32, True), (50, torch.float16, False)]:
    logits = torch.randint(0, 4, (6, n_symbols)).to(kind)  # many ties
    logits[5] = -torch.inf
    bias = torch.randint(0, 3, (n_symbols,)).float()
    table, mask = torch.randn(n_symbols + 1, 3), torch.rand(6, 3) if has_mask else None
    results = []
    for choose in (choose_labels, device_choice.choose_on_device):
        symbols, wide = torch.zeros(6, dtype=torch.int64), torch.zeros(6, 8, dtype=kind)
        choose(logits, bias, table, mask, symbols, wide[:, 5:])
        results.append((symbols, wide))
    torch.testing.assert_close(*results)
    logits[0] = torch.nan
    device_choice.choose_on_device(logits, bias, table, mask, symbols, wide[:, 5:])
    assert 0 <= int(symbols[0]) < n_symbols
"""


def test_the_kernel_agrees_with_tensor_operations():
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    run_interpreted(KERNEL)


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernel_compiles_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops.choice import _choose_kernel

    types = {
        "products": f"*{kind}",
        "bias": "*fp32",
        "table": "*fp32",
        "mask": "*fp32",
        "symbols": "*i64",
        "fed": f"*{kind}",
        **dict.fromkeys(("products_row", "mask_row", "fed_row", "n_symbols", "d"), "i32"),
    }
    constants = {"HAS_MASK": True, "AT_ONCE": 2048, "D": 128}
    compile_for_a_gpu(_choose_kernel, types, constants)
