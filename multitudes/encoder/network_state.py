"""A trained PrimeNetwork on disk: its backbone as a part, the rest as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from multitudes.encoder.backbone.backbone import Backbone
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.network import PrimeNetwork
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.prototypes.free_vectors import FreeVectors
from multitudes.encoder.prototypes.network import PrototypeConfig, PrototypeNetwork
from multitudes.store import State

KIND = "prime-network"
BACKBONE = "backbone."


def network_state(network: PrimeNetwork) -> State:
    """Settings, arrays and the backbone."""
    named = network.state_dict().items()
    arrays = {name: v.cpu().numpy() for name, v in named if not name.startswith(BACKBONE)}
    return State(
        KIND,
        {"prototypes": network.prototypes.config.to_dict(), "loss": network.loss.to_dict()},
        arrays,
        parts={"backbone": network.backbone.to_state()},
    )


def network_from_state(state: State) -> PrimeNetwork:
    """The network again, on the CPU, ready to predict."""
    backbone = Backbone.from_state(state.parts["backbone"])
    arrays = state.arrays
    settings = PrototypeConfig.from_dict(state.config["prototypes"])
    centroids = free_vectors = None
    if "centroids.vectors" in arrays:
        n_labels, dim = arrays["centroids.vectors"].shape
        centroids = Centroids(n_labels, dim, momentum=settings.momentum)
    if "free_vectors.vectors" in arrays:
        n_vectors, dim = arrays["free_vectors.vectors"].shape
        free_vectors = FreeVectors(arrays["free_vectors.clusters"], n_vectors, dim)
    network = PrimeNetwork(
        backbone,
        PrototypeNetwork(backbone.dim, settings),
        centroids=centroids,
        free_vectors=free_vectors,
        has_text=torch.from_numpy(np.array(arrays["has_text"])) if "has_text" in arrays else None,
        loss=LossConfig.from_dict(state.config["loss"]),
    )
    tensors: dict[str, Any] = {n: torch.from_numpy(np.array(a)) for n, a in arrays.items()}
    network.load_state_dict(tensors, strict=False)  # the backbone has its own already
    return network.eval()
