"""Sizes that a stored network declares are held against its weights before memory is taken."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from multitudes.errors import MultitudesError, StoreError
from multitudes.store import build, read_state

from .changed_states import GOLDEN, part_at, with_part

pytest.importorskip("torch")
HUGE = 10**6  # squared, more than any machine has


@pytest.mark.parametrize(
    ("name", "path", "setting"),
    [
        ("otseq2set", ("network",), ("hidden",)),
        ("otseq2set", ("network",), ("layers",)),
        ("otseq2set", ("network",), ("kernels", 0)),
        ("otseq2set", ("network",), ("n_steps",)),
        ("deep-miml", (), ("hidden_size",)),
        ("deep-miml", (), ("n_concepts",)),
        ("deep-miml", (), ("n_features",)),
        ("prime", ("network",), ("prototypes", "feed_forward")),
        ("prime", ("index",), ("config", "neighbors")),
    ],
)
def test_a_size_beyond_the_weights_is_refused_without_memory_for_it(name, path, setting):
    state = read_state(GOLDEN / name / "model")
    part = part_at(state, path)
    config = json.loads(json.dumps(dict(part.config)))
    owner = config
    for step in setting[:-1]:
        owner = owner[step]
    owner[setting[-1]] = HUGE
    with pytest.raises(StoreError):
        build(with_part(state, path, replace(part, config=config)))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("hidden_size", HUGE),
        ("num_hidden_layers", HUGE),
        ("vocab_size", 10**10),
        ("max_position_embeddings", 10**10),
    ],
)
def test_an_encoder_larger_than_its_files_is_refused(tmp_path, setting, value):
    pytest.importorskip("transformers")
    state = read_state(GOLDEN / "encoder-features" / "model")
    backbone = state.parts["backbone"]
    ((name, source),) = backbone.folders.items()
    shutil.copytree(source, tmp_path / "encoder")
    config = json.loads((tmp_path / "encoder" / "config.json").read_text())
    assert setting in config
    (tmp_path / "encoder" / "config.json").write_text(json.dumps(config | {setting: value}))
    changed = replace(backbone, folders={name: tmp_path / "encoder"})
    with pytest.raises(MultitudesError, match="transformers cannot read the encoder"):
        build(with_part(state, ("backbone",), changed))


@pytest.mark.parametrize("name", ["prime", "otseq2set"])
def test_a_loaded_model_writes_no_curves_where_its_file_says(name):
    pytest.importorskip("transformers")
    state = read_state(GOLDEN / name / "model")
    training = {**state.config["training"], "tensorboard": "/somewhere"}
    model = build(replace(state, config={**state.config, "training": training}))
    assert model.training.tensorboard is None


def test_a_label_with_a_token_that_the_encoder_does_not_know_is_refused():
    pytest.importorskip("transformers")
    state = read_state(GOLDEN / "prime" / "model")
    tokens = np.array(state.arrays["label_token_ids"])
    tokens[0] = np.iinfo(tokens.dtype).max
    with pytest.raises(StoreError, match="label_token_ids must be from 0"):
        build(replace(state, arrays={**state.arrays, "label_token_ids": tokens}))
