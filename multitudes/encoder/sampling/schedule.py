"""When instances are clustered and how large the clusters are, scaled to the length of training."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.errors import ConfigError

# NGAME's curriculum, in epochs of a training of 300 epochs.
PUBLISHED_EPOCHS = 300
FIRST_CLUSTERING = 10
EPOCHS_PER_CLUSTERING = 5
DOUBLINGS = (10, 25, 50, 75, 100, 125, 150, 200)


@dataclass(frozen=True)
class ClusterSchedule:
    """NGAME's schedule, scaled: epoch e of n stands for epoch 300 e / n of the published one.

    There, batches are random before epoch 10; from then on instances are clustered every 5 epochs,
    and the cluster size, 4 at first, doubles at epochs 10, 25, 50, 75, 100, 125, 150 and 200. The
    larger the clusters, the more of a batch is alike, and the harder its negatives.

    Parameters
    ----------
    epochs : int
        Length of the training.
    first_size : int
        Cluster size before the first doubling.
    max_size : int
        Cluster size at most: sensibly at most the batch size.
    enabled : bool
        False: random order throughout.

    Examples
    --------
    >>> schedule = ClusterSchedule(epochs=20, first_size=4, max_size=3200)
    >>> [schedule.size(epoch) for epoch in (0, 1, 2, 4, 19)]
    [0, 8, 16, 32, 1024]
    """

    epochs: int
    first_size: int = 4
    max_size: int = 1 << 30
    enabled: bool = True

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ConfigError(f"epochs must be >= 1, got {self.epochs}")

    def size(self, epoch: int) -> int:
        """Instances per cluster in an epoch; 0 where the order is random."""
        if not self.enabled or self._before(epoch, FIRST_CLUSTERING):
            return 0
        doublings = sum(not self._before(epoch, step) for step in DOUBLINGS)
        return int(min(self.first_size << doublings, self.max_size))

    def reclusters(self, epoch: int) -> bool:
        """Whether an epoch is the first to use a new clustering."""
        if not 0 <= epoch < self.epochs or not self.size(epoch):
            return False
        return self._period(epoch) != self._period(epoch - 1) or not self.size(epoch - 1)

    def _before(self, epoch: int, published: int) -> bool:
        # Whole numbers: 300 * 1 / 30 must not come out below 10.
        return epoch * PUBLISHED_EPOCHS < published * self.epochs

    def _period(self, epoch: int) -> int:
        """Clusterings that the published schedule has made by now, the first not counted."""
        elapsed = epoch * PUBLISHED_EPOCHS - FIRST_CLUSTERING * self.epochs
        return elapsed // (EPOCHS_PER_CLUSTERING * self.epochs)
