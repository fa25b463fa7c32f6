"""A trained SeqNetwork on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from multitudes.seq2set.network.label_vectors import StartVectors
from multitudes.seq2set.network.network import SeqNetwork
from multitudes.seq2set.network.network_config import NetworkConfig
from multitudes.store import State

KIND = "seq2set-network"


def network_state(network: SeqNetwork) -> State:
    """Settings and weights."""
    arrays = {name: value.cpu().numpy() for name, value in network.state_dict().items()}
    settings = {**network.config.to_dict(), "n_steps": network.decoder.n_steps}
    return State(KIND, settings, arrays)


def network_from_state(state: State) -> SeqNetwork:
    """The network again, on the CPU, ready to predict."""
    arrays = state.arrays
    n_symbols, dim = arrays["decoder.labels.weight"].shape
    config = replace(NetworkConfig.from_dict(state.config), compile="off")
    start = StartVectors(
        np.zeros(arrays["encoder.words.weight"].shape, np.float32),
        np.zeros((n_symbols - 2, dim), np.float32),
        n_words_found=0,
        n_labels_found=0,
    )
    network = SeqNetwork(start, n_steps=state.config["n_steps"], config=config)
    tensors: dict[str, Any] = {n: torch.from_numpy(np.array(a)) for n, a in arrays.items()}
    network.load_state_dict(tensors)
    return network.eval()
