from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from multitudes.deep.memory import explain_out_of_memory
from multitudes.errors import ResourceError


def test_says_what_to_change():
    message = "ran out of memory.*: lower batch_size or max_length, or switch on compile"
    with (
        pytest.raises(ResourceError, match=message),
        explain_out_of_memory(lower=("batch_size", "max_length"), enable=("compile",)),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory")


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="another"), explain_out_of_memory(lower=("x",)):
        raise RuntimeError("another")
