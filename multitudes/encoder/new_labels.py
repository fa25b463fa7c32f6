"""Labels that training never saw: their texts, and centroids from a few examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from multitudes.deep.texts.inputs import Texts
from multitudes.deep.texts.tokenizing import has_words
from multitudes.deep.texts.tokens import TokenRows, joined
from multitudes.encoder.backbone.embedding import embed
from multitudes.encoder.network import PrimeNetwork, Sources, new_sources
from multitudes.errors import ConfigError, DataError
from multitudes.types import FloatArray

Embed = Callable[[Texts], FloatArray]


@dataclass(frozen=True)
class NewLabels:
    """Labels to be added to a trained network.

    Parameters
    ----------
    rows : TokenRows of m texts
    centroids : float32 array (m, d)
        Of their examples; zero rows for labels without any.
    """

    rows: TokenRows
    centroids: FloatArray

    def prototypes(self, network: PrimeNetwork) -> FloatArray:
        """Return prototypes (m, d); a label of which nothing is known is an error."""
        backbone = network.backbone
        has_text = has_words(self.rows, backbone.tokenizer)
        _check_sources(network, has_text, self.centroids)
        if network.prototypes.config.sources == ("text",):
            has_text[:] = True  # a plain text encoder embeds an empty text
        texts = torch.from_numpy(embed(backbone, self.rows, "embedding labels"))
        network.eval()
        vectors = network.new_prototypes(
            texts.to(backbone.device),
            torch.from_numpy(self.centroids).to(backbone.device),
            torch.from_numpy(has_text).to(backbone.device),
        )
        found: FloatArray = vectors.float().cpu().numpy()
        return found


def sources_of_label(
    network: PrimeNetwork, labels: TokenRows, added_centroids: FloatArray, label: int
) -> Sources:
    """Return the sources of one label's prototype, one row each.

    Parameters
    ----------
    network : PrimeNetwork
    labels : TokenRows
        The texts of all labels, those added last.
    added_centroids : float32 array (n_added, d)
    label : int
        Its id.
    """
    backbone, row = network.backbone, labels.take(np.array([label]))
    texts = torch.from_numpy(embed(backbone, row, "embedding labels")).to(backbone.device)
    n_trained = len(labels) - len(added_centroids)
    if label < n_trained:
        return network.sources_of(torch.tensor([label], device=backbone.device), texts)
    centroid = torch.from_numpy(added_centroids[[label - n_trained]])
    has_text = torch.from_numpy(has_words(row, backbone.tokenizer))
    return new_sources(texts, centroid.to(backbone.device), has_text.to(backbone.device))


def example_centroids(
    examples: Sequence[Texts] | None, n_labels: int, *, embed: Embed, dim: int
) -> FloatArray:
    """Mean embeddings (n_labels, dim) of each label's examples, normalized; zero rows for none."""
    if examples is None:
        return np.zeros((n_labels, dim), np.float32)
    if len(examples) != n_labels:
        raise DataError(
            f"add_labels got {n_labels:,} label_texts and examples for {len(examples):,}: give "
            "one list of examples per label, empty for none"
        )
    for label, some in enumerate(examples):
        if isinstance(some, str):
            raise DataError(
                f"examples[{label}] must be a list of texts, got the single text {some[:40]!r}: "
                "wrap it in a list"
            )
    counts = np.array([len(some) for some in examples])
    means = np.zeros((n_labels, dim), np.float32)
    if counts.sum():
        embeddings = embed(_all_of(examples))
        np.add.at(means, np.repeat(np.arange(n_labels), counts), embeddings)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.maximum(lengths, 1e-12), np.float32)


def _all_of(examples: Sequence[Texts]) -> Texts:
    """All examples, one after the other; texts and token ids are not mixed."""
    rows = [some for some in examples if isinstance(some, TokenRows)]
    if len(rows) == len(examples):
        return joined(*rows)
    if rows:
        raise DataError("examples must be texts for all labels, or token ids for all labels")
    return [text for some in examples if not isinstance(some, TokenRows) for text in some]


def _check_sources(
    network: PrimeNetwork, has_text: npt.NDArray[np.bool_], centroids: FloatArray
) -> None:
    """Refuse examples that the network cannot use, and labels without any source."""
    config = network.prototypes.config
    has_example = centroids.any(axis=1)
    if has_example.any() and not config.uses("centroid"):
        raise ConfigError(
            f"the prototypes of this model are made of {list(config.sources)}: it cannot use "
            "examples; call add_labels with label_texts alone"
        )
    nothing = ~((has_text & config.uses("text")) | has_example)
    if nothing.any() and config.sources != ("text",):
        label = int(np.flatnonzero(nothing)[0])
        missing = "no word in its text and no examples" if config.uses("text") else "no examples"
        raise DataError(
            f"label {label} of the {len(nothing):,} to be added has {missing}: its "
            "prototype needs one of them"
        )
