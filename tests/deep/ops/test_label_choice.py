"""The likeliest symbol and its embedding: ties and masks."""

import pytest
import torch

from multitudes.deep.ops.label_choice import choose_labels
from tests.triton_kernels import compile_for_a_gpu


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


@pytest.mark.parametrize("kind", ["fp32", "bf16"])
def test_the_kernel_compiles_for_a_gpu(kind):
    pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")
    from multitudes.deep.ops.label_choice import _choose_kernel

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
