import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks import sampling
from multitudes.encoder.sampling.clusters import Clusters


def test_mean_cosine_is_that_of_pairs_within_clusters():
    vectors = sampling.clustered_vectors(9, 4, per_cluster=3)
    clusters = Clusters(np.array([3, 0, 8, 1, 2, 4, 5, 6, 7]), np.array([0, 2, 5, 9]))
    cosines = []
    for a, b in [(0, 2), (2, 5), (5, 9)]:
        own = vectors[clusters.instances[a:b]]
        cosines.extend((own @ own.T)[np.triu_indices(b - a, 1)])
    assert sampling.mean_cosine(vectors, clusters) == pytest.approx(np.mean(cosines), abs=1e-5)


def test_it_measures_everything_at_a_small_size(monkeypatch):
    monkeypatch.setattr(sampling, "BATCH_SIZE", 20)
    monkeypatch.setattr(sampling, "CLUSTER_SIZES", (8,))
    monkeypatch.setattr(sampling, "N_QUERIES", 30)
    vectors = sampling.clustered_vectors(300, 8)
    assert len(sampling.time_batches(sampling.long_tailed_labels(300, 400))) == 3
    assert sampling.time_clustering(vectors, 1)["clusters of 8"]["mean_cosine"] > 0.5
    assert sampling.time_search(vectors, ["flat"])["flat"]["recall_at_10"] == 1
