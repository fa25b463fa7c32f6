import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from multitudes.errors import ConfigError, DataError
from multitudes.seq2set.losses import set_generation_loss, transport_loss
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.losses.set_generation import ascending
from multitudes.seq2set.losses.step_matching import Matcher
from multitudes.seq2set.network.label_softmax import OutputLayer, Scored

from ..operations import WAITING, Operations
from .dense import dense_matching_loss, problems, random_problem


def loss_terms(problem, *, scheme="all", empty=0, scored=None, **settings):
    states, weight, bias, embeddings, targets = problem
    return set_generation_loss(
        states,
        targets,
        OutputLayer(weight, bias),
        empty=empty,
        matcher=Matcher(scheme, n_jobs=1),
        embeddings=embeddings,
        config=SetLossConfig(**settings),
        scored=scored,
    )


@pytest.mark.parametrize("scheme", ["all", "first-n"])
@pytest.mark.parametrize("labels_at_once", [None, 2])
@pytest.mark.parametrize("random_state", range(5))
def test_terms_and_gradients_are_those_of_the_dense_twin(scheme, labels_at_once, random_state):
    problem = random_problem(random_state)
    states, weight, bias, embeddings, targets = problem
    leaves = [part.requires_grad_() for part in (states, weight, bias)]
    terms = loss_terms(problem, scheme=scheme, labels_at_once=labels_at_once)
    log_probs = functional.linear(states, weight, bias).log_softmax(dim=2)
    matching = dense_matching_loss(log_probs, targets, scheme=scheme)
    transport = transport_loss(
        log_probs.exp() @ embeddings, embeddings[targets.clamp(min=0)], targets >= 0
    )
    torch.testing.assert_close(terms["matching"], matching)
    torch.testing.assert_close(terms["transport"], transport)
    torch.testing.assert_close(terms["loss"], matching + 8 * transport)
    torch.testing.assert_close(
        torch.autograd.grad(terms["loss"], leaves),
        torch.autograd.grad(matching + 8 * transport, leaves),
    )


@given(problems, st.randoms(use_true_random=False), st.sampled_from(["all", "first-n"]))
def test_the_order_of_targets_is_free(problem, random, scheme):
    targets = problem[-1]
    shuffled = targets.clone()
    for row in shuffled:
        order = list(range(len(row)))
        random.shuffle(order)
        row[:] = row[order]
    here = loss_terms(problem, scheme=scheme)
    there = loss_terms((*problem[:-1], shuffled), scheme=scheme)
    assert {name: term.item() for name, term in here.items()} == {
        name: term.item() for name, term in there.items()
    }


@given(st.permutations([1, 2, 3]))
def test_the_order_is_free_even_where_matchings_tie(order):
    # Whatever the matching, probabilities sum to the same, but their logarithms do not.
    probabilities = torch.tensor(
        [[0.1, 0.4, 0.2, 0.2, 0.1], [0.1, 0.3, 0.1, 0.1, 0.4], [0.2, 0.25, 0.05, 0.05, 0.45]],
        dtype=torch.float64,
    )
    problem = probabilities.log()[None], torch.eye(5).double(), None, None
    first = loss_terms((*problem, torch.tensor([[1, 2, 3]])), transport_weight=0)
    other = loss_terms((*problem, torch.tensor([order])), transport_weight=0)
    assert first["loss"].item() == other["loss"].item()


@given(problems, st.randoms(use_true_random=False))
def test_the_names_of_labels_are_free(problem, random):
    states, weight, bias, embeddings, targets = problem
    name = list(range(1, len(weight)))
    random.shuffle(name)
    name = torch.tensor([0, *name])  # the empty label keeps its own
    place = name.argsort()
    renamed = torch.where(targets >= 0, name[targets.clamp(min=0)], -1)
    there = loss_terms((states, weight[place], bias[place], embeddings[place], renamed))
    torch.testing.assert_close(there, loss_terms(problem))


@pytest.mark.parametrize("scheme", ["all", "first-n"])
def test_gradients_by_finite_differences(scheme):
    states, weight, bias, embeddings, targets = random_problem(
        n=3, n_steps=3, width=3, z=2, n_labels=5, d=3
    )

    def loss(states, weight, bias):
        problem = states, weight, bias, embeddings, targets
        # Plans are held fixed in the gradient, so only converged ones agree with differences.
        solver = {"transport_beta": 0.1, "transport_steps": 100, "transport_inner_steps": 3}
        return loss_terms(problem, scheme=scheme, labels_at_once=2, **solver)["loss"]

    leaves = [part.requires_grad_() for part in (states, weight, bias)]
    assert torch.autograd.gradcheck(loss, leaves, atol=1e-3)


def test_matching_alone_needs_no_embeddings():
    states, weight, bias, _, targets = random_problem()
    terms = loss_terms((states, weight, bias, None, targets), transport_weight=0)
    assert list(terms) == ["matching", "loss"]
    assert terms["loss"] is terms["matching"]
    unused = loss_terms(random_problem(), transport_weight=0)  # embeddings are given
    assert list(unused) == ["matching", "loss"]
    assert unused["loss"].item() == terms["loss"].item()
    with pytest.raises(ConfigError, match="transport_weight is 8.0, which takes label embeddings"):
        loss_terms((states, weight, bias, None, targets))


def test_products_that_were_made_already_are_not_made_again():
    states, weight, bias, embeddings, targets = random_problem()
    others = 3 * states  # products of these tell what was read
    scored = Scored((others @ weight.T).transpose(0, 1).contiguous(), weight)
    found = loss_terms((states, weight, bias, embeddings, targets), scored=scored)
    expected = loss_terms((others, weight, bias, embeddings, targets))
    torch.testing.assert_close(found, expected)


def test_any_label_can_be_the_empty_one():
    states, weight, bias, embeddings, targets = random_problem()
    around = torch.cat([torch.arange(1, 9), torch.tensor([0])])  # 0 becomes the last
    moved = torch.where(targets > 0, targets - 1, targets)
    there = loss_terms((states, weight[around], bias[around], embeddings[around], moved), empty=8)
    torch.testing.assert_close(there, loss_terms((states, weight, bias, embeddings, targets)))


@pytest.mark.parametrize("width", [0, 3])
def test_instances_without_labels_learn_empty_steps(width):
    states, weight, bias, embeddings, _ = random_problem()
    nobody = torch.full((5, width), -1)
    terms = loss_terms((states, weight, bias, embeddings, nobody))
    log_probs = functional.linear(states, weight, bias).log_softmax(dim=2)
    torch.testing.assert_close(terms["loss"], -log_probs[:, :, 0].mean())
    assert terms["transport"].item() == 0


def test_more_labels_than_steps_are_refused():
    with pytest.raises(DataError, match="up to 4 targets cannot be matched to 3 steps"):
        loss_terms(random_problem(n_steps=3, width=4))


def test_numbers_gone_bad_show_in_the_loss_and_nowhere_else():
    states, *others = random_problem()
    states[0, 0, 0] = torch.nan
    assert torch.isnan(loss_terms((states, *others))["loss"])


def test_ascending_puts_absent_labels_last():
    targets = torch.tensor([[5, -1, 0, 3], [-1, -1, -1, -1], [2, 1, 9, 4]])
    expected = [[0, 3, 5, -1], [-1, -1, -1, -1], [1, 2, 4, 9]]
    assert ascending(targets).tolist() == expected


def test_descending_the_loss_produces_the_sets():
    torch.manual_seed(0)
    states, weight, bias, embeddings, targets = random_problem(z=12, dtype=torch.float32)
    leaves = [part.requires_grad_() for part in (states, weight, bias)]
    optimizer = torch.optim.Adam(leaves, lr=0.1)
    for _ in range(100):
        # A stronger transport term would fill steps that should be empty.
        problem = states, weight, bias, embeddings, targets
        terms = loss_terms(problem, transport_weight=0.5)
        optimizer.zero_grad()
        terms["loss"].backward()
        optimizer.step()
    produced = functional.linear(states, weight, bias).argmax(dim=2)
    for symbols, labels in zip(produced.tolist(), targets.tolist(), strict=True):
        produced_labels = sorted(symbol for symbol in symbols if symbol != 0)
        assert produced_labels == sorted(label for label in labels if label >= 0)


def test_nothing_but_the_matching_waits_for_the_device():
    states, weight, bias, embeddings, targets = random_problem()
    with Operations() as seen:
        terms = loss_terms(
            (states.requires_grad_(), weight.requires_grad_(), bias, embeddings, targets)
        )
        terms["loss"].backward()
        assert not seen.names & WAITING
        terms["loss"].item()  # the watch sees what waits
    assert seen.names & WAITING == {"_local_scalar_dense"}


@pytest.mark.gpu
@pytest.mark.parametrize("scheme", ["all", "first-n"])
def test_a_device_computes_the_same_without_waiting(scheme):
    problem = random_problem(dtype=torch.float32)
    there = [part.cuda().requires_grad_(part.is_floating_point()) for part in problem]
    loss_terms(there, scheme=scheme)  # kernels are compiled
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        terms = loss_terms(there, scheme=scheme)
        terms["loss"].backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    here = [part.requires_grad_(part.is_floating_point()) for part in problem]
    expected = loss_terms(here, scheme=scheme)
    expected["loss"].backward()
    torch.testing.assert_close(terms["loss"].cpu(), expected["loss"], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(there[1].grad.cpu(), here[1].grad, atol=1e-3, rtol=1e-3)
