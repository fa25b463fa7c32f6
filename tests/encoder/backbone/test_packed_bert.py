import numpy as np
import pytest
import torch
import transformers

from multitudes.deep.texts.tokens import TokenRows, pack
from multitudes.encoder.backbone.behind_attention import behind_attention
from multitudes.encoder.backbone.packed_bert import packed_bert_forward, supports_packed

N_HEADS = 2


def small_bert(random_state: int = 0, **changes):
    torch.manual_seed(random_state)
    config = transformers.BertConfig(
        vocab_size=50, num_attention_heads=N_HEADS, intermediate_size=48,
        **{"hidden_size": 32, "max_position_embeddings": 40, "num_hidden_layers": 2, **changes},
    )  # fmt: skip
    return transformers.BertModel(config, add_pooling_layer=False).eval()


def texts_of(lengths, random_state=1):
    rng = np.random.default_rng(random_state)
    ids = rng.integers(1, 50, sum(lengths)).astype(np.uint16)
    return TokenRows(ids, np.concatenate([[0], np.cumsum(lengths)]))


@pytest.mark.parametrize("lengths", [[5, 2, 9, 1], [3], [7, 7, 7]])
@pytest.mark.parametrize("round_up_to", [1, 16])
def test_same_states_as_the_padded_model(lengths, round_up_to):
    model = small_bert()
    packed = pack(texts_of(lengths), round_up_to=round_up_to)
    ids, mask = packed.padded(pad_id=0)
    with torch.no_grad():
        expected = model(input_ids=ids, attention_mask=mask).last_hidden_state
        found = packed_bert_forward(model, packed)
    expected = expected[mask.bool()]
    torch.testing.assert_close(found[: sum(lengths)], expected, atol=1e-5, rtol=1e-5)
    assert torch.isfinite(found).all()


def test_same_gradients_as_the_padded_model():
    lengths = [4, 1, 6]
    packed = pack(texts_of(lengths), round_up_to=8)
    ids, mask = packed.padded(pad_id=0)
    weight = torch.randn(sum(lengths), 32)
    plain, ours = small_bert(), small_bert()
    states = plain(input_ids=ids, attention_mask=mask).last_hidden_state
    (states[mask.bool()] * weight).sum().backward()
    (packed_bert_forward(ours, packed)[: sum(lengths)] * weight).sum().backward()
    expected = dict(plain.named_parameters())
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(
            parameter.grad, expected[name].grad, atol=1e-4, rtol=1e-4, msg=name
        )


def test_computes_in_the_type_of_autocast():
    model = small_bert()
    packed = pack(texts_of([4, 2]))
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert packed_bert_forward(model, packed).dtype == torch.bfloat16


def test_dropout_only_in_training():
    model = small_bert()
    packed = pack(texts_of([4, 2]))
    with torch.no_grad():
        still = packed_bert_forward(model, packed)
        assert torch.equal(still, packed_bert_forward(model, packed))
        moving = packed_bert_forward(model.train(), packed)
    assert not torch.allclose(still, moving)


def test_compiling_is_for_training_alone(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "multitudes.encoder.backbone.packed_bert.compiled_behind_attention",
        lambda *given: calls.append(given) or behind_attention(*given),
    )
    model, packed = small_bert(hidden_dropout_prob=0.0), pack(texts_of([4, 2]))
    model.config.attention_probs_dropout_prob = 0.0
    still = packed_bert_forward(model, packed, compiled=True)
    assert not calls
    torch.testing.assert_close(packed_bert_forward(model.train(), packed, compiled=True), still)
    assert len(calls) == 2  # one a layer


def test_refuses_architectures_it_does_not_know():
    assert supports_packed(small_bert())
    assert not supports_packed(small_bert(hidden_act="relu"))
    assert not supports_packed(torch.nn.Linear(2, 2))


@pytest.mark.gpu
@pytest.mark.parametrize("lengths", [[5, 2, 9, 1], [3, 100, 17, 64, 33]])
def test_a_gpu_gives_the_same_states_and_gradients(lengths):
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    weight = torch.randn(sum(lengths), 32)
    found = []
    for device in ("cpu", "cuda"):
        model = small_bert(max_position_embeddings=128, **still).train().to(device)
        states = packed_bert_forward(model, pack(texts_of(lengths), device=device))
        (states * weight.to(device)).sum().backward()
        found.append([states.detach().cpu(), *(p.grad.cpu() for p in model.parameters())])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(there, here, atol=2e-3, rtol=2e-3)


@pytest.mark.gpu
def test_a_gpu_drops_anew_in_each_pass():
    model = small_bert().train().cuda()
    packed = pack(texts_of([4, 20, 2]), device="cuda")
    first, second = (packed_bert_forward(model, packed) for _ in range(2))
    assert not torch.allclose(first, second)
    first.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
