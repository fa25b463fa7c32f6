"""The Triton kernels of the losses against plain operations, in Triton's interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="Triton comes with a CUDA build of torch")

from multitudes.encoder.losses import (
    LossConfig,
    make_targets,
    multi_objective,
    multi_objective_loss,
)
from tests.triton_kernels import compile_for_a_gpu, run_interpreted

CHECK = """
import torch
from multitudes.encoder.losses import multi_objective
from tests.deep.ops.test_triplets import SETTINGS, terms_and_gradients

for config in SETTINGS:
    multi_objective._in_triton = lambda triplets: False
    plain = terms_and_gradients(config, n_positives={n_positives})
    multi_objective._in_triton = lambda triplets: True
    found = terms_and_gradients(config, n_positives={n_positives})
    assert plain.keys() == found.keys()
    for name in plain:
        torch.testing.assert_close(found[name], plain[name], atol=1e-6, rtol=1e-5, msg=name)
    assert plain["loss"] > 0 and plain["regularizer"] > 0
"""

SETTINGS = [
    LossConfig(),
    LossConfig(n_negatives=3),
    LossConfig(softmax_weights=False, n_negatives=7),
    LossConfig(detach_weights=True, temperature=0.02),
    LossConfig(margin="fixed", fixed_margin=0.2),
]


def terms_and_gradients(config, *, n_positives, device="cpu"):
    """Terms by name; gradients of a sum in which each counts differently.

    Rows without a positive, with fewer than others, and (the last) without a negative are there.
    """
    generator = torch.Generator().manual_seed(0)
    n_rows, n_labels, dim = 11, 9, 4
    vectors = torch.randn(n_rows + 2 * n_labels, dim, generator=generator)
    vectors = torch.nn.functional.normalize(vectors, dim=1).to(device).requires_grad_()
    known = torch.rand(n_rows, n_labels, generator=generator) < 0.3
    known[0], known[-1] = False, True
    positives = torch.full((n_rows, n_positives), -1)
    for row in range(n_rows):
        own = known[row].nonzero()[:n_positives, 0]
        positives[row, : len(own)] = own
    rows, columns = (each.to(device) for each in known.nonzero().T)
    targets = make_targets(positives.to(device), rows, columns, n_labels=n_labels, random_state=0)
    parts = vectors.split([n_rows, n_labels, n_labels])
    terms = multi_objective_loss(*parts, targets, config=config)
    total = sum((i + 1) * term for i, term in enumerate(terms.values()))
    (gradient,) = torch.autograd.grad(total, vectors)
    return {**{name: term.detach().cpu() for name, term in terms.items()}, "": gradient.cpu()}


def test_the_kernels_agree_with_plain_operations():
    run_interpreted("".join(CHECK.format(n_positives=n) for n in (1, 3)))


@pytest.mark.gpu
@pytest.mark.parametrize("config", SETTINGS)
def test_the_same_on_a_gpu(monkeypatch, config):
    found = terms_and_gradients(config, n_positives=2, device="cuda")
    monkeypatch.setattr(multi_objective, "_in_triton", lambda triplets: False)
    plain = terms_and_gradients(config, n_positives=2, device="cuda")
    for name, value in plain.items():
        torch.testing.assert_close(found[name], value, atol=1e-5, rtol=1e-4, msg=name)


def test_the_kernels_compile_for_a_gpu():
    from multitudes.deep.ops.regularizer import _kernel
    from multitudes.deep.ops.triplets import _triplet_kernel

    shared = {"has_positive": "*i1", "has_negative": "*i1", "parts": "*fp32", "n_rows": "i32"}
    sizes = {"P": 2, "K": 100, "WIDTH": 128}
    numbers = dict.fromkeys(("low", "high", "sharpness", "far"), "fp32")
    types = shared | numbers | {"picked": "*fp32", "grads": "*fp32"}
    compile_for_a_gpu(_triplet_kernel, types, sizes | {"WEIGHTED": True, "DETACHED": False})
    types = shared | {"prototypes": "*fp32", "texts": "*fp32", "signs": "*fp32", "margin": "fp32"}
    compile_for_a_gpu(_kernel, types, sizes)
