"""A training step: what it gives, and that capturing it changes nothing."""

import numpy as np
import pytest
import torch

from multitudes.deep.prefetch import prefetched
from multitudes.errors import TrainingError
from multitudes.seq2set import graph_capture
from multitudes.seq2set.graph_capture import CapturedGradients
from multitudes.seq2set.losses import sequence_loss
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.losses.step_matching import Matcher
from multitudes.seq2set.network.seq_network import TrainingBatch
from multitudes.seq2set.training_step import BatchTerms, TrainingStep
from multitudes.seq2set.words.batches import on_device, word_batch

from .operations import WAITING, Operations
from .tiny import N_LABELS, network, token_rows

SGM = {"global_embedding": True, "masked_softmax": True}
VARIANTS = [{}, {"bottleneck": 5}, {"convolution": False, "layers": 1}, SGM]
LENGTHS = [(9, 6, 3, 1), (8, 8, 2, 2), (5, 4, 3, 2), (16, 3, 3, 1)]  # padded to 16, 8, 8, 16


EXACT_SCALE = 4.0
"""Of a loss: a graph's gradients are scaled behind, others from the start, where any number but a
power of two would round differently."""


def batch(number=0, *, device="cpu", n_steps=3):
    """Texts and their labels; the end symbol is the empty label."""
    rng = np.random.default_rng(number)
    lengths = LENGTHS[number % len(LENGTHS)]
    targets = np.full((len(lengths), n_steps), -1)
    for row in targets:
        count = rng.integers(1, n_steps + 1)
        row[:count] = rng.choice(N_LABELS, count, replace=False)
    words = word_batch(token_rows(lengths, random_state=number), round_up_to=8, device=device)
    return TrainingBatch(words, on_device(targets, device))


def step_of(net, objective):
    return TrainingStep(BatchTerms(net, Matcher(), objective=objective, loss=SetLossConfig()))


def pair_on_a_gpu(objective, **settings):
    """A step that is captured, and the same that is not."""
    captured, plain = (
        step_of(network(3, scale=2.0, compile="graphs", **settings).train().cuda(), objective)
        for _ in range(2)
    )
    plain.captures = lambda batch: False
    return captured, plain


def results(step, given, *, precision=None, scale=1.0):
    """Terms, and gradients by parameter's name."""
    net = step.terms.network
    net.zero_grad()
    enabled = precision is not None
    device = given.targets.device.type
    with torch.autocast(device, precision or torch.bfloat16, enabled=enabled):
        terms = step(given)
    (scale * terms["loss"]).backward()
    found = {name: p.grad.clone() for name, p in net.named_parameters() if p.grad is not None}
    return {name: float(term.detach()) for name, term in terms.items()}, found


def assert_same_but_rounded(found, expected, near):
    """Gradients near for their norm: a number that cancels out is all rounding."""
    assert found[0] == pytest.approx(expected[0], rel=near)
    assert list(found[1]) == list(expected[1])
    for name, gradient in expected[1].items():
        assert (found[1][name] - gradient).norm() <= near * gradient.norm(), name


def assert_same(found, expected, **near):
    assert found[0] == pytest.approx(expected[0], rel=near.get("rtol", 1e-4))
    assert list(found[0]) == list(expected[0])
    torch.testing.assert_close(found[1], expected[1], **near)


@pytest.fixture
def replayed(monkeypatch):
    """Graphs that are run anew instead of replayed: the rest of capturing, without a GPU."""

    def record(compute, device, pool):
        compute()
        return compute

    monkeypatch.setattr(graph_capture, "record", record)
    monkeypatch.setattr(TrainingStep, "captures", lambda self, batch: True)


@pytest.mark.parametrize("objective", ["set", "sequence"])
@pytest.mark.parametrize("settings", VARIANTS)
def test_captured_is_as_plain(replayed, monkeypatch, objective, settings):
    captured = step_of(network(3, scale=2.0, compile="graphs", **settings).train(), objective)
    plain = step_of(network(3, scale=2.0, **settings).train(), objective)
    for number in [0, 1, 2, 3, 0]:
        monkeypatch.setattr(TrainingStep, "captures", lambda self, batch: self is captured)
        found, expected = (results(step, batch(number), scale=3.0) for step in (captured, plain))
        assert_same(found, expected, rtol=1e-4, atol=1e-4)
    assert len(captured.captured) == 2  # lengths 8 and 16


@pytest.mark.parametrize("objective", ["set", "sequence"])
def test_captured_is_as_plain_under_autocast(replayed, monkeypatch, objective):
    captured, plain = (
        step_of(network(3, scale=2.0, compile="graphs").train(), objective) for _ in range(2)
    )
    monkeypatch.setattr(TrainingStep, "captures", lambda self, batch: self is captured)
    for number in [1, 3]:
        found, expected = (
            results(step, batch(number), precision=torch.bfloat16, scale=EXACT_SCALE)
            for step in (captured, plain)
        )
        assert_same(found, expected, rtol=1e-5, atol=1e-6)
    results(captured, batch(1))
    assert len(captured.captured) == 3  # in another precision it is another graph


def test_gradients_of_several_batches_add_up(replayed):
    step = step_of(network(3, scale=2.0, compile="graphs").train(), "sequence")
    singles = [results(step, batch(number))[1] for number in (1, 3)]
    step.terms.network.zero_grad()
    for number in (1, 3):
        step(batch(number))["loss"].backward()
    for name, p in step.terms.network.named_parameters():
        torch.testing.assert_close(p.grad, singles[0][name] + singles[1][name])


def test_gradients_that_were_overwritten_are_refused(replayed):
    step = step_of(network(3, compile="graphs").train(), "sequence")
    loss = step(batch(0))["loss"]
    step(batch(1))
    with pytest.raises(TrainingError, match="were overwritten by a later step"):
        loss.backward()


def test_graphs_of_weights_that_moved_are_forgotten(replayed):
    step = step_of(network(3, compile="graphs").train(), "sequence")
    results(step, batch(0))
    net = step.terms.network
    net.decoder.labels.weight.data = net.decoder.labels.weight.data.clone()
    found = results(step, batch(3))
    assert len(step.captured) == 1
    assert_same(found, results(step_of(network(3).train(), "sequence"), batch(3)))


def test_frozen_words_have_no_gradient(replayed):
    net = network(3, compile="graphs").train()
    net.encoder.words.weight.requires_grad_(False)
    found = results(step_of(net, "set"), batch(0))[1]
    assert "encoder.words.weight" not in found
    assert "decoder.labels.weight" in found


def test_nothing_is_captured_on_a_cpu():
    step = step_of(network(3, compile="graphs").train(), "set")
    assert not step.captures(batch(0))
    results(step, batch(0))
    assert len(step.captured) == 0


@pytest.mark.parametrize("objective", ["set", "sequence"])
@pytest.mark.parametrize("settings", VARIANTS)
def test_no_part_of_a_step_waits_for_the_device(objective, settings):
    step = step_of(network(3, compile="graphs", dropout=0.2, **settings).train(), objective)
    given = batch(0)
    with Operations() as seen:
        step(given)["loss"].backward()
    assert not seen.names & WAITING
    assert "bmm" in seen.names


def test_terms_of_a_sequence_are_its_cross_entropy():
    net = network(3).train()
    given = batch(0)
    states = net(given.words, given.targets).states
    expected = sequence_loss(states, given.targets, net.decoder.output.layer)
    terms = step_of(net, "sequence")(given)
    assert list(terms) == ["loss"]
    torch.testing.assert_close(terms["loss"], expected)


@pytest.mark.parametrize("precision", [None, torch.bfloat16])
@pytest.mark.parametrize("settings", [{}, {"bottleneck": 5}, {"masked_softmax": True}])
def test_products_that_chose_labels_give_the_same_loss_as_new_ones(precision, settings):
    step = step_of(network(3, scale=2.0, dropout=0.2, **settings).train(), "set")
    given, net = batch(0), step.terms.network
    results = []
    with torch.autocast("cpu", precision or torch.bfloat16, enabled=precision is not None):
        decoded = net(given.words)
        assert decoded.scored.products.shape == (3, 4, 8)
        for one in (decoded, decoded._replace(scored=None)):
            loss = step.terms.of_decoded(one, given.targets)["loss"]
            learned = [net.decoder.output.weight, net.decoder.from_input.weight]
            results.append((loss, *torch.autograd.grad(loss, learned, retain_graph=True)))
    near = {"rtol": 1e-4, "atol": 1e-5} if precision is None else {"rtol": 3e-2, "atol": 5e-3}
    torch.testing.assert_close(*results, **near)


# ---------------------------------------------------------------------- on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("precision", [None, torch.bfloat16])
@pytest.mark.parametrize("objective", ["set", "sequence"])
def test_graphs_give_the_same_on_a_gpu(objective, precision, settings):
    captured, plain = pair_on_a_gpu(objective, **settings)
    for number in [0, 1, 2, 3, 0, 3]:  # captured once for each shape, then replayed
        given = batch(number, device="cuda")
        found, expected = (
            results(step, given, precision=precision, scale=EXACT_SCALE)
            for step in (captured, plain)
        )
        assert_same_but_rounded(found, expected, 1e-3 if precision is None else 3e-2)
    assert len(captured.captured) == 2


@pytest.mark.gpu
def test_graphs_learn_as_plain_steps_do_on_a_gpu():
    ends = []
    for step in pair_on_a_gpu("sequence"):
        net = step.terms.network
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.0)
        for number in range(12):
            step(batch(number % 4, device="cuda"))["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
        ends.append(
            [float(step(batch(number, device="cuda"))["loss"].detach()) for number in range(4)]
        )
    assert ends[0] == pytest.approx(ends[1], rel=2e-2)


@pytest.mark.gpu
def test_dropout_differs_between_replays_and_follows_the_seed():
    step = step_of(network(3, compile="graphs", dropout=0.5).train().cuda(), "sequence")
    given = batch(0, device="cuda")
    runs = []
    for _ in range(2):
        torch.manual_seed(3)
        runs.append([float(step(given)["loss"].detach()) for _ in range(4)])
    assert len(set(runs[0])) == 4
    assert runs[0] == runs[1]  # the first run captured, which drew random numbers of its own


@pytest.mark.gpu
def test_batches_are_made_ahead_while_graphs_are_captured():
    step, plain = pair_on_a_gpu("set")
    made = (batch(number, device="cuda") for number in range(24))
    losses = [results(step, given)[0]["loss"] for given in prefetched(made, 4)]
    expected = [results(plain, batch(number, device="cuda"))[0]["loss"] for number in range(24)]
    assert losses == pytest.approx(expected, rel=1e-2)


@pytest.mark.gpu
def test_further_shapes_share_memory():
    net = network(3, compile="graphs", hidden=256, convolution=False).train().cuda()
    captured = CapturedGradients(step_of(net, "sequence").terms)
    used = []
    for width in (64, 32, 16, 8):
        rows = token_rows([width] * 64)
        words = word_batch(rows, device="cuda")
        targets = torch.zeros((64, 3), dtype=torch.int64, device="cuda")
        captured(words.ids, words.lengths, targets)["loss"].backward()
        torch.cuda.synchronize()
        used.append(torch.cuda.memory_reserved())
    assert used[-1] < 1.5 * used[0]
