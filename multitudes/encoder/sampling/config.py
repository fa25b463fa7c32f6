"""SamplerConfig: how training batches are put together."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting

INVERSE_PROPENSITY = "inverse-propensity"
UNIFORM = "uniform"


@dataclass(frozen=True)
class SamplerConfig(Config):
    """How training batches are put together."""

    batch_size: int = setting(1024, "Instances per step.", at_least=1)
    positives: int = setting(1, "Labels drawn for each instance of a batch.", at_least=1)
    positive_weights: str = setting(
        INVERSE_PROPENSITY,
        "Draw positives in proportion to their inverse propensity, which favors rare labels, or "
        "all alike.",
        choices=(INVERSE_PROPENSITY, UNIFORM),
    )
    propensity: str = setting("default", "Data set whose propensity constants apply.")
    clustered: bool = setting(
        True,
        "Fill batches with clusters of similar instances, whose labels are hard negatives of one "
        "another; off: in random order.",
    )
    cluster_size: int = setting(4, "Instances per cluster before the first doubling.", at_least=1)
    max_cluster_size: int | None = setting(
        None, "Instances per cluster at most; None: the batch size.", at_least=1
    )
    snapshot_at: float = setting(
        0.5,
        "Part of the epoch before a clustering's first use after which embeddings are copied for "
        "it: later means fresher embeddings and less time to cluster beside training.",
        at_least=0,
        at_most=1,
    )
    cluster_threads: int | None = setting(
        None, "Threads that cluster beside training; None: all cores but two.", at_least=1
    )
    fixed_n_labels: bool = setting(
        False,
        "Fill the labels of a batch up to batch_size * positives with random others, so that "
        "compiled models see one shape; they are further negatives.",
    )
    keep_last: bool = setting(False, "Keep the last, smaller batch of an epoch.")
    prefetch: int = setting(4, "Batches made ahead in a background thread; 0: none.", at_least=0)
