import pytest

pytest.importorskip("torch")

from multitudes.encoder.sampling import ClusterSchedule
from multitudes.errors import ConfigError


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
