"""The one switch of all kernels."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

import torch

from multitudes.deep.ops import switch
from multitudes.deep.ops.switch import OPERATIONS, kernels, runs_kernel
from multitudes.errors import ConfigError

CUDA = torch.device("cuda")


@pytest.fixture(autouse=True)
def _triton_is_there(monkeypatch):
    monkeypatch.setattr(switch, "triton", object())
    monkeypatch.delenv(switch.VARIABLE, raising=False)


def on():
    return {name for name in OPERATIONS if runs_kernel(name, CUDA)}


def test_all_are_on_by_default_and_on_cuda_alone():
    assert on() == set(OPERATIONS)
    assert not any(runs_kernel(name, torch.device("cpu")) for name in OPERATIONS)


def test_the_environment_turns_all_or_some_off(monkeypatch):
    monkeypatch.setenv(switch.VARIABLE, "off")
    assert not on()
    monkeypatch.setenv(switch.VARIABLE, "-gru_cell, -matching")
    assert on() == set(OPERATIONS) - {"gru_cell", "matching"}


def test_a_setting_in_code_comes_first_and_ends(monkeypatch):
    monkeypatch.setenv(switch.VARIABLE, "off")
    with kernels("-transport"):
        with kernels("off"):
            assert not on()
        assert on() == set(OPERATIONS) - {"transport"}
    assert not on()


@pytest.mark.parametrize("setting", ["of", "gru_cell", "-gru_sell", ""])
def test_what_is_not_known_is_refused(setting):
    with pytest.raises(ConfigError, match="MULTITUDES_KERNELS must be 'on', 'off'"):
        kernels(setting).__enter__()
    with pytest.raises(ConfigError, match="did you mean 'gru_cell'"):
        kernels("-gru_sell").__enter__()


def test_a_gpu_without_triton_does_without(monkeypatch):
    monkeypatch.setattr(switch, "triton", None)
    assert not on()


def test_networks_load_where_triton_is_not_installed():
    code = "import sys; sys.modules['triton'] = None; import multitudes.seq2set, multitudes.encoder"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
