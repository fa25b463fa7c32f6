import numpy as np
import pytest
import torch

from multitudes.encoder.sampling.clusters import BackgroundClustering, Clusters, cluster_instances
from multitudes.encoder.sampling.kept_embeddings import KeptEmbeddings
from tests.encoder.sampling.problems import two_topics

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
