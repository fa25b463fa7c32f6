import numpy as np
import pytest
import torch

from multitudes.encoder.sampling.clusters import (
    BackgroundClustering,
    Clusters,
    KeptEmbeddings,
    cluster_instances,
)
from tests.encoder.sampling.problems import two_topics

pytest.importorskip("torch")
import pytest

from multitudes.encoder.sampling import ClusterSchedule
from multitudes.errors import ConfigError

INSTANCES = np.arange(3, 60)


def test_clusters_hold_each_instance_once_and_are_small_and_pure():
    clusters = cluster_instances(torch.from_numpy(two_topics()), INSTANCES, size=8, random_state=0)
    np.testing.assert_array_equal(np.sort(clusters.instances), INSTANCES)
    sizes = np.diff(clusters.offsets)
    assert sizes.max() <= 8
    assert sizes.max() - sizes.min() <= 1
    topics = [
        np.unique(clusters.instances[a:b] % 2).size
        for a, b in zip(clusters.offsets[:-1], clusters.offsets[1:], strict=True)
    ]
    # 28 and 29 instances of two topics in eight clusters of 7 or 8: at most one is mixed.
    assert sum(n > 1 for n in topics) <= 1


def test_the_number_of_threads_and_the_precision_kept_change_nothing():
    H = torch.from_numpy(two_topics()).half()
    one = cluster_instances(H, INSTANCES, size=4, random_state=3, n_jobs=1)
    two = cluster_instances(H.float(), INSTANCES, size=4, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one.instances, two.instances)


def test_shuffling_keeps_clusters_together():
    clusters = Clusters(np.array([5, 7, 1, 0, 2, 9]), np.array([0, 2, 3, 6]))
    shuffled = [
        clusters.shuffled(np.random.default_rng(random_state)).tolist()
        for random_state in range(20)
    ]
    orders = {tuple(order) for order in shuffled}
    assert len(orders) > 1
    assert orders <= {
        (5, 7, 1, 0, 2, 9), (5, 7, 0, 2, 9, 1), (1, 5, 7, 0, 2, 9),
        (1, 0, 2, 9, 5, 7), (0, 2, 9, 1, 5, 7), (0, 2, 9, 5, 7, 1),
    }  # fmt: skip


def test_an_error_in_the_background_surfaces_with_the_result():
    def work():
        raise ValueError("broken")

    clustering = BackgroundClustering(work, epoch=1)
    with pytest.raises(ValueError, match="broken"):
        clustering.result()


def test_a_snapshot_does_not_change_with_later_steps():
    kept = KeptEmbeddings(4)
    kept.write(torch.tensor([1, 3]), torch.ones(2, 5))
    snapshot = kept.snapshot()
    kept.write(torch.tensor([0, 1]), torch.full((2, 5), 2.0))
    assert snapshot()[:, 0].tolist() == [0, 1, 0, 1]
    assert kept.snapshot()()[:, 0].tolist() == [2, 2, 0, 1]


def test_the_published_schedule_at_its_published_length():
    schedule = ClusterSchedule(epochs=300)
    sizes = [schedule.size(epoch) for epoch in range(300)]
    assert sizes[:10] == [0] * 10
    changes = [e for e in range(1, 300) if sizes[e] != sizes[e - 1]]
    assert changes == [10, 25, 50, 75, 100, 125, 150, 200]
    assert [sizes[e] for e in changes] == [8, 16, 32, 64, 128, 256, 512, 1024]
    assert [e for e in range(300) if schedule.reclusters(e)] == list(range(10, 300, 5))


@pytest.mark.parametrize("epochs", [1, 2, 7, 20, 30, 60, 150, 450])
def test_epoch_e_of_n_is_the_published_epoch_300_e_over_n(epochs):
    schedule, published = ClusterSchedule(epochs=epochs), ClusterSchedule(epochs=300)
    for epoch in range(epochs):
        assert schedule.size(epoch) == published.size(epoch * 300 // epochs)


@pytest.mark.parametrize("epochs", [2, 7, 20, 30, 60, 150, 300, 450])
def test_a_new_size_always_comes_with_a_new_clustering(epochs):
    schedule = ClusterSchedule(epochs=epochs)
    changed = {e for e in range(1, epochs) if schedule.size(e) != schedule.size(e - 1)}
    reclusters = {e for e in range(epochs) if schedule.reclusters(e)}
    assert changed
    assert changed <= reclusters


def test_twenty_epochs_cluster_anew_in_each_but_the_first():
    schedule = ClusterSchedule(epochs=20, max_size=3200)
    assert [e for e in range(20) if schedule.reclusters(e)] == list(range(1, 20))
    assert schedule.size(0) == 0


def test_clusters_never_exceed_the_largest_size_asked_for():
    schedule = ClusterSchedule(epochs=20, first_size=4, max_size=100)
    assert max(schedule.size(e) for e in range(20)) == 100


def test_nothing_is_clustered_when_disabled():
    schedule = ClusterSchedule(epochs=300, enabled=False)
    assert not any(schedule.size(e) or schedule.reclusters(e) for e in range(300))


def test_no_epochs_is_an_error():
    with pytest.raises(ConfigError, match="epochs must be >= 1, got 0"):
        ClusterSchedule(epochs=0)
