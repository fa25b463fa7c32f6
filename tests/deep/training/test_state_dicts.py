import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.deep.training import Checkpoint
from multitudes.deep.training.state_dicts import copied, pack_state, unpack_state
from multitudes.errors import StoreError

plain = st.none() | st.booleans() | st.integers(-(2**100), 2**100) | st.floats() | st.text()
nested = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        | st.dictionaries(st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(values=st.dictionaries(st.text(max_size=5), nested, max_size=4))
def test_plain_values_come_back(values):
    assert repr(unpack_state(pack_state("part", values))) == repr(values)


TENSORS = [
    torch.arange(6.0).reshape(2, 3),
    torch.arange(6.0).reshape(2, 3).t(),
    torch.tensor(3.5),
    torch.zeros(0, 4),
    torch.tensor([True, False]),
    torch.tensor([1, -2], dtype=torch.int64),
    torch.tensor([0.1, torch.inf, -torch.inf], dtype=torch.bfloat16),
    torch.tensor(0.1, dtype=torch.bfloat16),
    torch.tensor([0.1], dtype=torch.float16),
    torch.tensor([0.1], dtype=torch.float64),
    torch.get_rng_state(),
]


@pytest.mark.parametrize("tensor", TENSORS, ids=lambda t: f"{t.dtype}-{tuple(t.shape)}")
def test_tensors_come_back_from_disk_bit_for_bit(tmp_path, tensor):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write({"part": {"a": {0: tensor, "b": [1, (tensor,)]}}})
    found = checkpoint.read()["part"]["a"]
    for back in (found[0], found["b"][1][0]):
        assert back.dtype == tensor.dtype
        assert torch.equal(back, tensor)


def test_arrays_and_generators_come_back(tmp_path):
    generator = np.random.default_rng(3)
    values = {"array": np.arange(3, dtype=np.int16), "state": generator.bit_generator.state}
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write({"part": values})
    found = checkpoint.read()["part"]
    assert found["array"].dtype == np.int16
    found["array"][0] = 7  # one's own copy
    again = np.random.default_rng(0)
    again.bit_generator.state = found["state"]
    assert again.random() == generator.random()


def test_two_arrays_of_one_name_are_refused():
    with pytest.raises(StoreError, match="two arrays .* 'a/b'"):
        pack_state("part", {"a": {"b": np.zeros(1)}, "a/b": np.zeros(1)})


def test_what_cannot_be_stored_is_named(tmp_path):
    with pytest.raises(StoreError, match="cannot be stored: got object"):
        Checkpoint(tmp_path).write({"part": {"a": object()}})


def test_copies_do_not_follow_the_original():
    original = {"t": torch.zeros(2), "n": [np.zeros(2)], "k": 1}
    copy = copied(original)
    original["t"] += 1
    original["n"][0] += 1
    assert torch.equal(copy["t"], torch.zeros(2))
    assert np.array_equal(copy["n"][0], np.zeros(2))
    assert copy["k"] == 1
