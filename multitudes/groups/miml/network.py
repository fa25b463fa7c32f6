"""Deep-MIML, Eq. 7 of the paper, and its co-attention form."""

from __future__ import annotations

import torch
from torch import Tensor, nn

FIRST_BIAS = 0.5


class MIMLNetwork(nn.Module):
    """Logits of each instance of a bag, over all labels, weighted by a co-attention mask.

    FC + ReLU to concepts, the maximum over concepts, times the mask (Eq. 7 and Figure 2 of the
    paper). The last step, the maximum over instances, is `pooled`: losses that look at single
    instances need what comes before it.

    Parameters
    ----------
    n_features, n_labels : int
    n_concepts : int
        Concepts of each label: a label's logit is that of its strongest concept.
    hidden_size : int, optional
        Width of an FC + ReLU layer in front (the "two-layer" network of section 7.3); none for
        Eq. 7 as it stands.
    label_embeddings : Tensor (n_labels, n_features), optional
        L of the mask; without it the mask is 1 everywhere, which is plain Deep-MIML.
    tau : float
        Hardness of the mask: 0 is plain Deep-MIML, infinity gives a label to one instance alone.
    train_embeddings : bool
        Whether L is trained with the other weights.

    References
    ----------
    Shen, Yu, Sanghavi and Dhillon, Extreme Multi-label Classification from Aggregated Labels,
    ICML 2020, section 6. Feng and Zhou, Deep MIML Network, AAAI 2017.
    """

    label_embeddings: Tensor | None

    def __init__(
        self,
        n_features: int,
        n_labels: int,
        *,
        n_concepts: int = 4,
        hidden_size: int | None = None,
        label_embeddings: Tensor | None = None,
        tau: float = 0.1,
        train_embeddings: bool = False,
    ) -> None:
        super().__init__()
        self.n_labels, self.n_concepts, self.tau = n_labels, n_concepts, tau
        self.hidden = None if hidden_size is None else nn.Linear(n_features, hidden_size)
        self.concepts = nn.Linear(hidden_size or n_features, n_concepts * n_labels)
        # A label whose concepts are all negative has no gradient (ReLU) and would never be learned.
        nn.init.constant_(self.concepts.bias, FIRST_BIAS)
        if label_embeddings is not None and train_embeddings:
            self.label_embeddings = nn.Parameter(label_embeddings.clone())
        else:
            self.register_buffer("label_embeddings", label_embeddings)

    def instance_logits(self, X: Tensor) -> Tensor:
        """V2 of Eq. 7 (n_instances, n_labels), of dense or sparse X (n_instances, n_features)."""
        # X @ W rather than the layer itself: the product takes sparse rows as well.
        if self.hidden is not None:
            X = torch.relu(X @ self.hidden.weight.T + self.hidden.bias)  # (n, hidden_size)
        logits = X @ self.concepts.weight.T + self.concepts.bias  # (n, concepts * labels)
        cube = torch.relu(logits).view(-1, self.n_concepts, self.n_labels)  # (n, concepts, labels)
        return cube.amax(dim=1)  # (n, labels)

    def attention(self, X: Tensor, members: Tensor) -> Tensor:
        """The mask M = g softmax(tau X L^T) of each bag, (n_bags, largest bag, n_labels).

        The softmax is over the instances of a bag, g is their number; padding gets 0.

        Parameters
        ----------
        X : Tensor (n_instances, n_features)
        members : int64 Tensor (n_bags, largest bag)
            Rows of X in each bag; -1 is padding.
        """
        present = (members >= 0).unsqueeze(2)  # (bags, g, 1)
        if self.label_embeddings is None:
            return present.expand(-1, -1, self.n_labels).to(X.dtype)  # (bags, g, labels)
        affinity = self.tau * (X @ self.label_embeddings.T)  # (n, labels)
        affinity = affinity[members.clamp(min=0)]  # (bags, g, labels)
        affinity = affinity.masked_fill(~present, -torch.inf)
        sizes = present.sum(dim=1, keepdim=True)  # (bags, 1, 1)
        return sizes * torch.softmax(affinity, dim=1)  # (bags, g, labels)

    def forward(self, X: Tensor, members: Tensor) -> Tensor:
        """Masked logits of the instances of each bag, (n_bags, largest bag, n_labels).

        Parameters as of `attention`; what stands at padding is no logit.
        """
        logits = self.instance_logits(X)[members.clamp(min=0)]  # (bags, g, labels)
        if self.label_embeddings is None:
            return logits
        masked: Tensor = logits * self.attention(X, members)  # (bags, g, labels)
        return masked


def pooled(logits: Tensor, members: Tensor) -> Tensor:
    """The maximum over the instances of each bag, (n_bags, n_labels): the end of Eq. 7.

    Parameters
    ----------
    logits : Tensor (n_bags, largest bag, n_labels)
    members : int64 Tensor (n_bags, largest bag)
        -1 is padding, which is left out.
    """
    return logits.masked_fill((members < 0).unsqueeze(2), -torch.inf).amax(dim=1)
