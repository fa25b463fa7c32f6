"""Blocks of a softmax: put together they are the whole, and gradients are autograd's."""

import pytest
import torch

from multitudes.seq2set.network.label_softmax import _absorb, _Products, _Running, _spread


@pytest.mark.parametrize("has_bias", [False, True])
def test_blocks_together_are_the_whole(has_bias):
    torch.manual_seed(0)
    logits, bias = 5 * torch.randn(4, 10), torch.randn(10) if has_bias else None
    places = torch.tensor([[0, 9], [3, -1], [5, 5], [8, 2]])
    running = _Running(torch.full((4,), -1e30), torch.zeros(4), torch.zeros(4, 2))
    whole = logits if bias is None else logits + bias
    for part in (slice(0, 6), slice(6, 10)):
        own = None if bias is None else bias[part]
        unscaled = torch.empty(4, part.stop - part.start)
        before = running.total.clone()
        shrink = _absorb(
            _Products(logits[:, part].clone(), own, places - part.start), running, unscaled
        )
        torch.testing.assert_close(running.total, before * shrink + unscaled.sum(dim=1))
    torch.testing.assert_close(running.highest + running.total.log(), whole.logsumexp(dim=1))
    expected = torch.where(places >= 0, whole.gather(1, places.clamp(min=0)), 0.0)
    torch.testing.assert_close(running.asked, expected)


@pytest.mark.parametrize("has_along", [False, True])
def test_the_gradient_is_autograds(has_along):
    torch.manual_seed(0)
    logits = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    places, to_asked = torch.tensor([[0, 6], [3, 3], [5, 1]]), torch.randn(3, 2).double()
    along = torch.randn(3, 7).double() if has_along else None
    normalizer = logits.logsumexp(dim=1)  # (3,)
    probabilities = (logits - normalizer[:, None]).exp()
    loss = ((logits.gather(1, places) - normalizer[:, None]) * to_asked).sum()
    shift = -to_asked.sum(dim=1)
    if along is not None:
        loss = loss + (probabilities * along).sum()
        shift = shift - (probabilities.detach() * along).sum(dim=1)
    loss.backward()
    block = _Products(logits.detach().clone(), None, places)
    found = block.products  # over what is read
    _spread(block, normalizer.detach(), shift, along, to_asked, found)
    torch.testing.assert_close(found, logits.grad)
