"""Precision and recall of a network in training, on instances kept aside."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.training import digest_of
from multitudes.encoder.fitting import embed, label_prototypes
from multitudes.encoder.network import PrimeNetwork
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.metrics import precision_at_k, recall_at_k
from multitudes.types import Sparse

DEEPEST = 100


@dataclass(frozen=True)
class Validation:
    """Measures a network: P@1, P@5 and R@100.

    Parameters
    ----------
    instances : TokenRows
        Texts kept aside.
    Y : CSR (n, n_labels)
        Their labels.
    labels : TokenRows
        The texts of all labels.
    """

    instances: TokenRows
    Y: Sparse
    labels: TokenRows

    def digest(self) -> str:
        """A fingerprint: other instances may choose another epoch."""
        return digest_of(self.instances.ids, self.instances.offsets, self.Y.indices, self.Y.indptr)

    def __call__(self, network: PrimeNetwork) -> dict[str, float]:
        """The metrics now."""
        prototypes, _ = label_prototypes(network, self.labels)
        queries = embed(network.backbone, self.instances, "Embedding validation texts")
        index = PrototypeIndex(prototypes, IndexConfig(kind="flat"))
        found = index.search(queries, top_k=DEEPEST)
        return {
            "P@1": precision_at_k(found, self.Y, k=1),
            "P@5": precision_at_k(found, self.Y, k=5),
            "R@100": recall_at_k(found, self.Y, k=DEEPEST),
        }
