from contextlib import suppress

import pytest
import torch

from multitudes.deep.devices import (
    choose_device,
    choose_precision,
    fastest_precision,
    tensor_core_products,
    torch_threads,
)
from multitudes.errors import ConfigError

GPU = torch.device("cuda")
CPU = torch.device("cpu")


def test_auto_is_the_gpu_if_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == GPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == CPU


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(monkeypatch, name):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=f"device='{name}', but torch finds no"):
        choose_device(name)


@pytest.mark.parametrize("name", ["foo", "meta", "cuda:x", None])
def test_what_is_no_device_is_refused(name):
    with pytest.raises(ConfigError, match=f"device must be one of .*'cuda'.*, got {name!r}"):
        choose_device(name)


def test_one_of_several_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ConfigError, match=r"device='cuda:2', but torch finds 2 GPU\(s\)"):
        choose_device("cuda:2")


@pytest.mark.parametrize(
    ("name", "device", "bf16", "expected"),
    [
        ("auto", CPU, True, "no"),
        ("auto", GPU, True, "bf16"),
        ("auto", GPU, False, "fp16"),
        ("float32", GPU, True, "no"),
        ("bf16", CPU, True, "bf16"),
        ("fp16", GPU, True, "fp16"),
    ],
)
def test_precision(monkeypatch, name, device, bf16, expected):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: bf16)
    assert choose_precision(name, device) == expected


def test_bf16_that_fails_on_this_cpu_is_refused(monkeypatch):
    monkeypatch.setenv("MULTITUDES_BF16", "off")
    with pytest.raises(ConfigError, match="precision='bf16' does not work on this CPU"):
        choose_precision("bf16", CPU)
    assert choose_precision("bf16", GPU) == "bf16"


def test_half_precision_on_a_cpu_is_refused():
    with pytest.raises(ConfigError, match="precision='fp16' needs a GPU"):
        choose_precision("fp16", CPU)


@pytest.mark.parametrize(("enabled", "meanwhile"), [(True, "high"), (False, "highest")])
def test_products_on_tensor_cores_end_with_the_training(enabled, meanwhile):
    assert torch.get_float32_matmul_precision() == "highest"
    with suppress(ValueError), tensor_core_products(enabled):
        assert torch.get_float32_matmul_precision() == meanwhile
        raise ValueError("broken off")
    assert torch.get_float32_matmul_precision() == "highest"


def test_threads_inside_and_as_before_afterwards():
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with torch_threads(None):
        assert torch.get_num_threads() == before


def test_bfloat16_only_where_the_processor_knows_it(monkeypatch):
    device = torch.device("cpu")
    for able, works, expected in (
        (True, True, "bf16"),
        (True, False, "float32"),
        (False, True, "float32"),
    ):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda able=able: able)
        monkeypatch.setattr("multitudes.deep.devices.bf16_works", lambda works=works: works)
        assert fastest_precision(device) == expected
    assert fastest_precision(torch.device("meta")) == "float32"
