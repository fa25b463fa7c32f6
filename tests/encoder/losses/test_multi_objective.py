import pytest

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from multitudes.encoder.losses import (
    dynamic_margin_loss,
    make_targets,
    multi_objective_loss,
    prototype_regularizer,
    softmax_loss,
    triplet_loss,
)
from multitudes.encoder.losses.config import LossConfig

OTHER = {
    "gamma_min": 0.05, "gamma_max": 0.5, "n_negatives": 2, "temperature": 0.4,
    "regularizer_weight": 0.7, "regularizer_margin": 0.4,
}  # fmt: skip
"""Settings none of which is the default."""
TERMS = ("query_to_prototype", "query_to_label", "label_to_query", "regularizer")


def toy_batch():
    """12 instances of 6 labels, two each: unit embeddings of everything, and the targets."""
    generator = torch.Generator().manual_seed(0)
    instances, texts, prototypes = (
        functional.normalize(torch.randn(n, 16, generator=generator), dim=1) for n in (12, 6, 6)
    )
    rows = torch.arange(12)
    targets = make_targets((rows % 6)[:, None], rows, rows % 6, n_labels=6, random_state=0)
    return instances, texts, prototypes, targets


@pytest.mark.parametrize(
    ("loss", "config"),
    [
        (dynamic_margin_loss, LossConfig()),
        (dynamic_margin_loss, LossConfig(margin="literal")),
        (triplet_loss, LossConfig(margin="fixed")),
        (softmax_loss, LossConfig(kind="softmax")),
        (dynamic_margin_loss, LossConfig(**OTHER)),
        (triplet_loss, LossConfig(margin="fixed", fixed_margin=0.7, **OTHER)),
        (softmax_loss, LossConfig(kind="softmax", softmax_temperature=0.4, **OTHER)),
    ],
)
def test_terms_are_the_single_losses_and_sum_up_by_eq_5(loss, config):
    instances, texts, prototypes, targets = toy_batch()
    to_prototypes, to_texts = instances @ prototypes.T, instances @ texts.T
    positives, known = targets.positives, targets.known
    terms = multi_objective_loss(instances, texts, prototypes, targets, config=config)
    expected = [
        loss(to_prototypes, positives, known, config=config),
        loss(to_texts, positives, known, config=config),
        loss(to_texts.T, targets.label_positives, known.T, config=config),
        prototype_regularizer(to_prototypes, to_texts, positives, known, config=config),
    ]
    assert [terms[name].item() for name in TERMS] == pytest.approx([e.item() for e in expected])
    total = sum(expected[:3]) + config.regularizer_weight * expected[3]
    assert terms["loss"].item() == pytest.approx(total.item())


@pytest.mark.parametrize("term", TERMS)
def test_each_term_can_be_switched_off(term):
    instances, texts, prototypes, targets = toy_batch()
    off = {"regularizer_weight": 0.0} if term == "regularizer" else {term: False}
    terms = multi_objective_loss(instances, texts, prototypes, targets, config=LossConfig(**off))
    assert term not in terms
    weights = {"regularizer": 0.1}
    rest = sum(weights.get(name, 1) * value for name, value in terms.items() if name != "loss")
    assert terms["loss"].item() == pytest.approx(rest.item())


def test_without_the_prototype_term_there_is_no_regularizer():
    instances, texts, prototypes, targets = toy_batch()
    config = LossConfig(query_to_prototype=False)
    terms = multi_objective_loss(instances, texts, prototypes, targets, config=config)
    assert set(terms) == {"query_to_label", "label_to_query", "loss"}


@pytest.mark.parametrize("kind", ["triplet", "softmax"])
@pytest.mark.parametrize("term", TERMS[:3])
def test_each_term_can_be_alone(term, kind):
    batch = toy_batch()
    alone = {name: name == term for name in TERMS[:3]}
    config = LossConfig(kind=kind, regularizer_weight=0.0, **alone)
    terms = multi_objective_loss(*batch, config=config)
    assert set(terms) == {term, "loss"}
    beside_others = multi_objective_loss(*batch, config=LossConfig(kind=kind))[term]
    assert terms["loss"].item() == terms[term].item() == beside_others.item() > 0


def trained(margin, *, n_labels, steps):
    """Vectors learned by a loss: instances (4 n, 16), texts and prototypes (n, 16); last terms."""
    generator = torch.Generator().manual_seed(0)
    vectors = [
        torch.randn(n, 16, generator=generator).requires_grad_()
        for n in (4 * n_labels, n_labels, n_labels)
    ]
    rows = torch.arange(4 * n_labels)
    labels = rows % n_labels
    targets = make_targets(labels[:, None], rows, labels, n_labels=n_labels, random_state=0)
    optimizer = torch.optim.Adam(vectors, lr=0.05)
    for _ in range(steps):
        unit = [functional.normalize(vector, dim=1) for vector in vectors]
        terms = multi_objective_loss(*unit, targets, config=LossConfig(margin=margin))
        optimizer.zero_grad()
        terms["loss"].backward()
        optimizer.step()
    instances, _, prototypes = (functional.normalize(v.detach(), dim=1) for v in vectors)
    best = (instances @ prototypes.T).argmax(dim=1)
    return terms, (best == labels).float().mean().item()


@pytest.mark.parametrize("margin", ["dynamic", "fixed"])
def test_falls_to_zero_on_separable_data(margin):
    first, _ = trained(margin, n_labels=6, steps=1)
    last, precision = trained(margin, n_labels=6, steps=200)
    assert all(first[name] > 0.1 for name in TERMS[:3])
    # Not exactly 0: the regularizer draws a little at the texts (Eq. 6).
    assert all(last[name] < 1e-3 for name in TERMS[:3])
    assert precision == 1


def test_eq_3_as_printed_collapses_where_the_default_separates():
    _, precision = trained("dynamic", n_labels=40, steps=150)
    assert precision == 1
    _, precision = trained("literal", n_labels=40, steps=150)
    assert precision < 0.4


def test_is_float32_under_mixed_precision():
    instances, texts, prototypes, targets = toy_batch()
    exact = multi_objective_loss(instances, texts, prototypes, targets)["loss"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = multi_objective_loss(instances, texts, prototypes, targets)["loss"]
    assert mixed.dtype == torch.float32
    assert mixed.item() == exact.item()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_similarities_of_embeddings_in_few_bits_are_float32(dtype):
    *embeddings, targets = toy_batch()
    short = [rows.to(dtype) for rows in embeddings]
    found = multi_objective_loss(*short, targets)["loss"]
    wide = torch.promote_types(dtype, torch.float32)
    expected = multi_objective_loss(*(rows.to(wide) for rows in short), targets)["loss"]
    assert found.dtype == wide
    assert found.item() == expected.item()


@pytest.mark.parametrize("kind", ["triplet", "softmax"])
def test_needs_no_values_on_the_host(kind):
    """Fake tensors have no values: whatever would wait for a device raises on them."""
    with FakeTensorMode():
        terms = multi_objective_loss(*toy_batch(), config=LossConfig(kind=kind))
    assert terms["loss"].shape == ()


def test_compiles_to_one_graph():
    torch._dynamo.reset()
    compiled = torch.compile(multi_objective_loss, backend="eager", fullgraph=True)
    batch = toy_batch()
    batch[0].requires_grad_()
    loss = compiled(*batch)["loss"]
    loss.backward()
    expected = multi_objective_loss(*batch)["loss"]
    assert loss.item() == pytest.approx(expected.item())
    assert batch[0].grad.abs().sum() > 0
