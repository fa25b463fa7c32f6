"""Generation: greedy, no repeats, beams, early stops, and the scores that come with them."""

import itertools

import numpy as np
import pytest
import torch

from multitudes.seq2set.generation.generate import DecodingConfig, generate
from multitudes.seq2set.generation.prediction import best_of_steps
from multitudes.seq2set.words.batches import word_batch

from ..tiny import N_LABELS, network, token_rows, words

GREEDY = DecodingConfig()


def made(net, *, config=GREEDY, ends=False, top_k=3, batch=None):
    return generate(net, batch or words(), config=config, ends=ends, top_k=top_k)


def test_greedy_probabilities_are_those_of_the_steps():
    net = network()
    decoded = net(words())
    probabilities = torch.softmax(net.decoder.output.logits(decoded.states), dim=2)
    found = made(net)
    best, labels = probabilities.max(dim=2)
    assert found.labels.tolist() == torch.where(labels == net.empty, -1, labels).tolist()
    torch.testing.assert_close(found.probabilities, best.masked_fill(labels == net.empty, 0))
    top = probabilities[:, :, :N_LABELS].topk(3, dim=2)
    assert found.candidates.tolist() == top.indices.tolist()
    torch.testing.assert_close(found.candidate_probabilities, top.values)


def test_nothing_comes_after_the_end_of_a_sequence():
    net = network(n_steps=6, random_state=4)
    free, ended = made(net), made(net, ends=True)
    assert any(-1 in row[:-1] and row[-1] != -1 for row in free.labels.tolist())
    for row, whole in zip(ended.labels.tolist(), free.labels.tolist(), strict=True):
        end = whole.index(-1) if -1 in whole else len(whole)
        assert row == (whole[:end] + [-1] * len(whole))[: len(row)]
    after = (ended.labels == -1).cumsum(dim=1) > 1
    assert (ended.candidates[after] == -1).all()


@pytest.mark.parametrize(("ends", "stop_at"), [(True, None), (False, 0.6), (False, 1e-6)])
@pytest.mark.parametrize("masked", [False, True])
def test_stopping_early_is_the_same_for_a_batch_and_single_texts(ends, stop_at, masked):
    net = network(n_steps=8, random_state=4, masked_softmax=masked)
    config = DecodingConfig(stop_at=stop_at)
    rows = token_rows((12, 9, 6, 3, 1))
    batch = made(net, config=config, ends=ends, batch=word_batch(rows)).labels.tolist()
    assert any(-1 in row for row in batch)
    for i, row in enumerate(batch):
        alone = made(net, config=config, ends=ends, batch=word_batch(rows.take(np.array([i]))))
        single = alone.labels[0].tolist()
        assert single == row[: len(single)]
        assert set(row[len(single) :]) <= {-1}


def test_stopping_early_leaves_out_what_comes_after_a_certain_empty_label():
    net = network(n_steps=6, random_state=4)
    free = made(net).labels.tolist()
    stopped = made(net, config=DecodingConfig(stop_at=1e-9)).labels.tolist()
    for row, whole in zip(stopped, free, strict=True):
        end = whole.index(-1) if -1 in whole else len(whole)
        assert [label for label in row if label >= 0] == whole[:end]


def likeliest(net, batch, *, no_repeat, ends):
    """The best of all sequences, by trying them."""
    symbols = [
        sequence
        for sequence in itertools.product(range(N_LABELS + 1), repeat=net.decoder.n_steps)
        if not (no_repeat and repeats(sequence, net.empty))
        and not (ends and not ended_well(sequence, net.empty))
    ]
    targets = torch.tensor(symbols)
    memory = net.encode(batch).repeated(len(symbols))
    with torch.no_grad():
        states = net.decoder(*memory, targets).states
        log_probs = torch.log_softmax(net.decoder.output.logits(states), dim=2)
    own = log_probs.gather(2, targets[:, :, None])[:, :, 0]
    if ends:
        after = (targets == net.empty).cumsum(dim=1) - (targets == net.empty).long() > 0
        own = own.masked_fill(after, 0)
    return list(symbols[int(own.sum(dim=1).argmax())])


def repeats(sequence, empty):
    labels = [symbol for symbol in sequence if symbol != empty]
    return len(set(labels)) < len(labels)


def ended_well(sequence, empty):
    """Nothing but the empty label behind the first one."""
    return empty not in sequence or set(sequence[sequence.index(empty) :]) == {empty}


@pytest.mark.parametrize("no_repeat", [False, True])
@pytest.mark.parametrize("ends", [False, True])
def test_a_wide_beam_finds_the_likeliest_sequence(no_repeat, ends):
    config = DecodingConfig(beam_width=64, no_repeat=no_repeat)
    for random_state in range(3):
        net = network(n_steps=3, random_state=random_state, scale=4.0)
        batch = words((7,), random_state=random_state)
        expected = likeliest(net, batch, no_repeat=no_repeat, ends=ends)
        found = made(net, config=config, ends=ends, batch=batch).labels[0].tolist()
        assert found == [-1 if symbol == net.empty else symbol for symbol in expected]


@pytest.mark.parametrize("settings", [{}, {"global_embedding": True, "masked_softmax": True}])
@pytest.mark.parametrize("ends", [False, True])
def test_beams_of_a_batch_are_those_of_single_texts(settings, ends):
    net = network(n_steps=4, **settings)
    config = DecodingConfig(beam_width=3)
    rows = token_rows((12, 6, 1))
    batch = made(net, config=config, ends=ends, batch=word_batch(rows))
    for i in range(3):
        alone = made(net, config=config, ends=ends, batch=word_batch(rows.take(np.array([i]))))
        assert alone.labels[0].tolist() == batch.labels[i].tolist()
        torch.testing.assert_close(alone.probabilities[0], batch.probabilities[i])


@pytest.mark.parametrize(("ends", "stop_at"), [(True, None), (False, 0.6), (False, None)])
@pytest.mark.parametrize("no_repeat", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_more_labels_than_are_looked_at_together(monkeypatch, ends, stop_at, no_repeat, masked):
    """Steps are then scored when all are made, a few at a time."""
    net = network(n_steps=6, random_state=4, masked_softmax=masked)
    config = DecodingConfig(stop_at=stop_at, no_repeat=no_repeat)
    together = made(net, config=config, ends=ends)
    monkeypatch.setattr("multitudes.seq2set.network.label_output.MAX_LABELS_AT_ONCE", 3)
    monkeypatch.setattr("multitudes.seq2set.generation.generate.LOGITS_AT_ONCE", 4 * N_LABELS)
    apart = made(net, config=config, ends=ends)
    torch.testing.assert_close(vars(apart), vars(together))


def test_masked_softmax_gives_nothing_to_labels_fed_before():
    net = network(n_steps=5, masked_softmax=True)
    found = made(net, top_k=N_LABELS)
    for labels, candidates, values in zip(
        found.labels, found.candidates, found.candidate_probabilities, strict=True
    ):
        for t in range(1, 5):
            fed = set(labels[:t].tolist()) - {-1}
            banned = [c in fed for c in candidates[t].tolist()]
            assert values[t][torch.tensor(banned)].sum() == 0
    assert (found.labels >= 0).sum() > 4


def test_best_of_steps():
    labels = np.array([[3, 1, 3, -1], [-1, -1, -1, -1]])
    scores = np.array([[0.2, 0.3, 0.9, 0.0], [0, 0, 0, 0]], np.float32)
    found = best_of_steps(labels, scores, n_labels=5, top_k=3)
    assert found.labels.tolist() == [[3, 1, -1], [-1, -1, -1]]
    np.testing.assert_allclose(found.scores[0], [0.9, 0.3, -np.inf])


def test_any_step_counts_a_label_that_comes_again():
    labels = np.array([[3, 1, 3, -1], [2, 2, 0, 1], [-1, -1, -1, -1]])
    scores = np.array([[0.4, 0.5, 0.4, 0.0], [1.0, 0.5, 0.2, 0.3], [0, 0, 0, 0]], np.float32)
    found = best_of_steps(labels, scores, n_labels=5, top_k=3, rank_by="any")
    assert found.labels.tolist() == [[3, 1, -1], [2, 1, 0], [-1, -1, -1]]
    np.testing.assert_allclose(found.scores[0, :2], [1 - 0.6**2, 0.5], rtol=1e-6)
    np.testing.assert_allclose(found.scores[1], [1, 0.3, 0.2], rtol=1e-6)


def test_best_of_steps_needs_no_more_candidates_than_labels_asked_for():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(20), (50, 6)).astype(np.float32)
    order = np.argsort(-probabilities, axis=2)[:, :, :4]
    values = np.take_along_axis(probabilities, order, axis=2)
    found = best_of_steps(order.reshape(50, -1), values.reshape(50, -1), n_labels=20, top_k=4)
    highest = probabilities.max(axis=1)
    expected = np.argsort(-highest, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(found.labels, expected)
