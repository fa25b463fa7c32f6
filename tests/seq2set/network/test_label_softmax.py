"""The blockwise softmax against a dense one: values, gradients, precision and memory."""

import pytest

pytest.importorskip("torch")

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from multitudes.errors import DataError
from multitudes.seq2set.network.label_softmax import OutputLayer, Scored, label_softmax

N_LABELS = 11


def random_inputs(
    random_state=0, *, n=3, n_steps=4, z=5, n_labels=N_LABELS, d=3, k=3, dtype=torch.float64
):
    generator = torch.Generator().manual_seed(random_state)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    labels = torch.randint(-1, n_labels, (n, n_steps, k), generator=generator)
    return draw(n, n_steps, z), draw(n_labels, z), draw(n_labels), draw(n_labels, d), labels


def dense(states, output, labels, embeddings, excluded=None):
    logits = torch.nn.functional.linear(states, output.weight, output.bias)
    if excluded is not None:
        forbidden = torch.zeros(logits.shape, dtype=torch.bool)
        forbidden[tuple(zip(*excluded, strict=True))] = True
        logits = logits.masked_fill(forbidden, -torch.inf)
    log_probs = logits.log_softmax(dim=2)
    asked = log_probs.gather(2, labels.clamp(min=0))
    return torch.where(labels >= 0, asked, 0.0), log_probs.exp() @ embeddings


@pytest.mark.parametrize("labels_at_once", [None, 1, 4, 11, 50])
@pytest.mark.parametrize("with_bias", [True, False])
def test_values_and_gradients_are_those_of_the_dense_softmax(labels_at_once, with_bias):
    states, weight, bias, embeddings, labels = random_inputs()
    bias = bias if with_bias else None
    leaves = [part.requires_grad_() for part in (states, weight, bias) if part is not None]
    output = OutputLayer(weight, bias)
    found = label_softmax(
        states, output, labels, embeddings=embeddings, labels_at_once=labels_at_once
    )
    expected = dense(states, output, labels, embeddings)
    pulls = [torch.randn_like(part) for part in expected]
    torch.testing.assert_close(found, expected)
    ours = torch.autograd.grad(found, leaves, pulls)
    torch.testing.assert_close(ours, torch.autograd.grad(expected, leaves, pulls))


def test_gradients_by_finite_differences():
    states, weight, bias, embeddings, labels = random_inputs(n=2, n_steps=2, z=3, k=2)
    excluded = torch.tensor([[[-1], [-1]], [[-1], [6]]])
    labels[labels == 6] = 5

    def both(states, weight, bias):
        return label_softmax(
            states, OutputLayer(weight, bias), labels,
            embeddings=embeddings, excluded=excluded, labels_at_once=4,
        )  # fmt: skip

    leaves = [part.requires_grad_() for part in (states, weight, bias)]
    assert torch.autograd.gradcheck(both, leaves)


def test_labels_shared_by_all_steps_need_not_be_repeated():
    states, weight, bias, _, labels = random_inputs()
    output = OutputLayer(weight, bias)
    found, nothing = label_softmax(states, output, labels[:, :1])
    expected, _ = label_softmax(states, output, labels[:, :1].expand(-1, 4, -1))
    assert nothing is None
    assert torch.equal(found, expected)


@pytest.mark.parametrize("labels_at_once", [2, 11])
def test_excluded_labels_have_no_probability(labels_at_once):
    states, weight, bias, embeddings, labels = random_inputs()
    labels[labels == 6] = 7
    labels[labels == 0] = 1
    excluded = torch.full((3, 4, 2), -1)
    excluded[0, 1] = torch.tensor([6, 0])
    excluded[2, 3, 1] = 6
    leaves = [states.requires_grad_(), weight.requires_grad_()]
    output = OutputLayer(weight, bias)
    found = label_softmax(
        states, output, labels,
        embeddings=embeddings, excluded=excluded, labels_at_once=labels_at_once,
    )  # fmt: skip
    expected = dense(states, output, labels, embeddings, [(0, 1, 6), (0, 1, 0), (2, 3, 6)])
    torch.testing.assert_close(found, expected)
    pulls = [torch.randn_like(part) for part in expected]
    torch.testing.assert_close(
        torch.autograd.grad(found, leaves, pulls), torch.autograd.grad(expected, leaves, pulls)
    )


def test_large_logits_do_not_overflow():
    states, weight, bias, embeddings, labels = random_inputs(dtype=torch.float32)
    output = OutputLayer(weight, bias)
    found = label_softmax(1e4 * states, output, labels, embeddings=embeddings, labels_at_once=3)
    torch.testing.assert_close(found, dense(1e4 * states, output, labels, embeddings))


def test_autocast_lowers_products_alone():
    states, weight, bias, embeddings, labels = random_inputs(dtype=torch.float32)
    leaves = [states.requires_grad_(), weight.requires_grad_()]
    output = OutputLayer(weight, bias)
    exact = label_softmax(states, output, labels, embeddings=embeddings)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = label_softmax(states, output, labels, embeddings=embeddings)
    assert [part.dtype for part in found] == [torch.float32] * 2
    torch.testing.assert_close(found, exact, atol=0.05, rtol=0.02)
    assert not torch.equal(found[0], exact[0])
    pulls = [torch.ones_like(part) for part in exact]
    ours = torch.autograd.grad(found, leaves, pulls)
    assert [part.dtype for part in ours] == [torch.float32] * 2
    torch.testing.assert_close(ours, torch.autograd.grad(exact, leaves, pulls), atol=0.2, rtol=0.1)


@pytest.mark.parametrize("labels_at_once", [None, 3, 8])
@pytest.mark.parametrize("with_bias", [True, False])
def test_sizes_that_are_no_multiple_of_eight_in_half_precision(labels_at_once, with_bias):
    states, weight, bias, embeddings, labels = random_inputs(dtype=torch.float32)
    excluded = torch.where(labels[:, :, :1] == 1, 2, 1)  # never one that is asked for
    labels = torch.where((labels == 1) | (labels == 2), -1, labels)
    bias = bias if with_bias else None
    leaves = [part.requires_grad_() for part in (states, weight, bias) if part is not None]
    results = []
    for enabled in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            log_probs, expected = label_softmax(
                states,
                OutputLayer(weight, bias),
                labels,
                embeddings=embeddings,
                excluded=excluded,
                labels_at_once=labels_at_once,
            )
        loss = log_probs.sum() + expected.square().sum()
        results.append((log_probs, expected, *torch.autograd.grad(loss, leaves)))
    for full, half in zip(*results, strict=True):
        assert half.shape == full.shape
        assert (half - full).norm() / full.norm() < 0.03


class LargestTensor(TorchDispatchMode):
    """Watches every operation, backward ones too, for the largest tensor that comes out."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.largest = max(self.largest, leaf.numel())
        return result


@pytest.mark.parametrize("labels_at_once", [8, 64])
def test_no_tensor_is_larger_than_a_block_or_the_weights(labels_at_once):
    n, n_steps, z, n_labels = 8, 16, 2, 4096
    states, weight, bias, embeddings, labels = random_inputs(
        n=n, n_steps=n_steps, z=z, n_labels=n_labels, d=2
    )
    leaves = [part.requires_grad_() for part in (states, weight, bias)]
    with LargestTensor() as watch:
        found = label_softmax(
            states, OutputLayer(weight, bias), labels,
            embeddings=embeddings, labels_at_once=labels_at_once,
        )  # fmt: skip
        torch.autograd.backward(found, [torch.ones_like(part) for part in found])
    assert all(leaf.grad is not None for leaf in leaves)
    assert watch.largest == max(n * n_steps * labels_at_once, n_labels * z)
    assert watch.largest < n * n_steps * n_labels / 32


def test_what_is_kept_for_the_backward_pass_does_not_grow_with_the_labels():
    kept = []
    for n_labels in (100, 10_000):
        states, weight, bias, embeddings, labels = random_inputs(n_labels=n_labels)
        sizes = []
        given = {part.data_ptr() for part in (weight, bias, embeddings)}

        def pack(tensor, sizes=sizes, given=given):
            sizes.append(0 if tensor.data_ptr() in given else tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            label_softmax(
                states.requires_grad_(), OutputLayer(weight, bias), labels,
                embeddings=embeddings, labels_at_once=50,
            )  # fmt: skip
        kept.append(sum(sizes))
    assert kept[0] == kept[1] > 0


@pytest.mark.parametrize("labels_at_once", [None, 4])  # where there are blocks, it is of no use
@pytest.mark.parametrize("with_embeddings", [True, False])
def test_products_that_were_made_already(labels_at_once, with_embeddings):
    states, weight, bias, embeddings, labels = random_inputs()
    leaves = [part.requires_grad_() for part in (states, weight, bias)]
    made = Scored((states @ weight.T).detach().transpose(0, 1).contiguous(), weight.detach())
    before = made.products.clone()
    results = []
    for scored in (None, made, made):
        log_probs, expected = label_softmax(
            states, OutputLayer(weight, bias), labels,
            embeddings=embeddings if with_embeddings else None,
            labels_at_once=labels_at_once, scored=scored,
        )  # fmt: skip
        loss = log_probs.sum() if expected is None else log_probs.sum() + expected.square().sum()
        results.append((log_probs.detach(), *torch.autograd.grad(loss, leaves)))
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])
    assert torch.equal(made.products, before)


def test_states_that_are_filled_up():
    states, weight, bias, embeddings, labels = random_inputs(dtype=torch.float32)
    weight.requires_grad_()
    results = []
    for more in (0, 3):  # to 8 numbers in 16 bits
        wide = torch.nn.functional.pad(states, (0, more)).bfloat16().requires_grad_()
        found = label_softmax(wide, OutputLayer(weight, bias), labels, embeddings=embeddings)
        loss = sum(part.square().sum() for part in found)
        to_states, to_weight = torch.autograd.grad(loss, [wide, weight])
        results.append((*found, to_states[:, :, :5], to_weight))
    torch.testing.assert_close(*results)


def test_frozen_parts_get_no_gradient():
    states, weight, bias, embeddings, labels = random_inputs()
    found, _ = label_softmax(states, OutputLayer(weight.requires_grad_(), bias), labels)
    found.sum().backward()
    assert weight.grad is not None
    assert bias.grad is states.grad is None
    _, expected = label_softmax(
        states, OutputLayer(weight, bias), labels, embeddings=embeddings.requires_grad_()
    )
    expected.sum().backward()
    assert embeddings.grad is None


def test_sizes_that_do_not_fit_are_refused():
    states, weight, bias, embeddings, labels = random_inputs()
    output = OutputLayer(weight, bias)
    with pytest.raises(DataError, match="states have 4 dimensions and the output layer reads 5"):
        label_softmax(states[:, :, :4], output, labels)
    with pytest.raises(DataError, match=r"b = 3, got \(2, 4, 3\)"):
        label_softmax(states, output, labels[:2])
    with pytest.raises(DataError, match="10 label embeddings and 11 outputs"):
        label_softmax(states, output, labels, embeddings=embeddings[:10])
