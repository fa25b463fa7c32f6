"""Training the clusters of a level: each on its own instances, however the work is cut."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.threads import ThreadTeam
from multitudes.linear import SolverConfig, tasks
from multitudes.linear.level_labels import pattern_of
from multitudes.linear.level_weights import ends
from multitudes.linear.tasks import Task, TrainingSet, cut_tasks
from multitudes.linear.train_children import scrambled, tolerance_of
from multitudes.linear.train_level import LevelJob, run_jobs, seed_of, train_levels

from .problems import EXACT, assert_same_levels, dense, dense_flat, problem, train_flat

SIZES = [5, 0, 17, 18]
OFFSETS = ends(SIZES)


@pytest.fixture(scope="module")
def data():
    return problem(n=90, n_labels=40)


@pytest.fixture(scope="module")
def members():
    """(n_clusters, n_instances): few, none, most and some instances."""
    rng = np.random.default_rng(0)
    share = np.array([[0.2], [0.0], [0.9], [0.4]])
    return pattern_of(sp.csr_array(rng.random((4, 90)) < share))


def trained(data, members, solver=EXACT, *, n_jobs=1, **options):
    job = job_of(data, members, solver, **options)
    with ThreadTeam(n_jobs) as team:
        return train_levels([job], team)[0]


def job_of(data, members, solver=EXACT, **options):
    X, Y = data
    return LevelJob(TrainingSet.of(X), pattern_of(Y), members, OFFSETS, solver=solver, **options)


def test_large_clusters_have_a_looser_tolerance():
    solver = SolverConfig(epsilon=0.3)
    assert [tolerance_of(solver, n) for n in (0, 10, 1024)] == [0.3] * 3
    assert tolerance_of(solver, 32 * 1024) == pytest.approx(0.6)
    assert tolerance_of(solver.replaced(epsilon_growth=0.0), 32 * 1024) == 0.3


@pytest.mark.parametrize("loss", ["squared-hinge", "hinge", "logistic"])
def test_each_cluster_learns_from_its_members_alone(data, members, loss):
    X, Y = data
    solver = SolverConfig(loss=loss, epsilon=1e-5, max_epochs=20_000, threshold=0)
    level = trained(data, members, solver)
    found = dense(level, OFFSETS, X.shape[1])
    for cluster in (0, 2, 3):
        rows, children = members.row(cluster), slice(OFFSETS[cluster], OFFSETS[cluster + 1])
        alone = train_flat(X[rows], Y[rows][:, children], solver)
        np.testing.assert_allclose(found[children], dense_flat(alone, X.shape[1]), atol=1e-3)
        np.testing.assert_allclose(level.bias[children], alone.bias, atol=1e-3)
    assert level.seen.tolist() == np.diff(members.indptr).tolist()


def test_a_label_weight_reaches_its_own_child(data, members):
    X, _ = data
    weight = np.ones(OFFSETS[-1], np.float32)
    weight[7] = 3
    plain, weighted = trained(data, members), trained(data, members, label_weight=weight)
    changed = (dense(plain, OFFSETS, X.shape[1]) != dense(weighted, OFFSETS, X.shape[1])).any(
        axis=1
    )
    assert np.flatnonzero(changed).tolist() == [7]


@pytest.mark.parametrize("loss", ["squared-hinge", "hinge", "logistic"])
def test_two_threads_train_what_one_does(data, members, loss):
    solver = SolverConfig(loss=loss)
    assert_same_levels([trained(data, members, solver)], [trained(data, members, solver, n_jobs=2)])


def test_cuts_change_nothing(data, members, monkeypatch):
    def with_share(share):
        monkeypatch.setattr(tasks, "LARGEST_SHARE", share)
        return trained(data, members, SolverConfig())

    assert_same_levels([with_share(1.0)], [with_share(1e-6)])


def test_room_changes_nothing(data, members, monkeypatch):
    def with_bytes(largest):
        monkeypatch.setattr(tasks, "LARGEST_BYTES", largest)
        return trained(data, members, SolverConfig())

    assert_same_levels([with_bytes(1 << 30)], [with_bytes(64)])


def test_some_clusters_alone_are_the_same(data, members):
    level = trained(data, members)
    with ThreadTeam(1) as team:
        (chunks,) = run_jobs([job_of(data, members, clusters=np.array([3, 0]))], team)
    for chunk, cluster in zip(chunks, (3, 0), strict=True):
        expected = level.chunk(cluster, OFFSETS[cluster], SIZES[cluster])
        for array, whole in zip(chunk, expected, strict=True):
            np.testing.assert_array_equal(array, whole)


def test_levels_trained_together_are_the_same_as_alone(data, members):
    seeds = (0, 5, 9)
    jobs = [
        job_of(data, members, SolverConfig(), random_state=random_state) for random_state in seeds
    ]
    with ThreadTeam(2) as team:
        together = train_levels(jobs, team)
    alone = [
        trained(data, members, SolverConfig(), random_state=random_state) for random_state in seeds
    ]
    assert_same_levels(together, alone)


def test_the_training_set_knows_lengths_of_rows():
    X = sp.csr_array(np.array([[0, 0, 0], [3, 0, 4], [0, 0, 0], [0, 2, 0], [0, 0, 0]], np.float64))
    training = TrainingSet.of(X)
    assert training.square.tolist() == [0, 25, 0, 4, 0]
    assert training.weight.tolist() == [1] * 5
    kinds = (training.indptr.dtype, training.indices.dtype, training.data.dtype)
    assert kinds == (np.int64, np.int32, np.float32)
    assert TrainingSet.of(X[:0]).square.tolist() == []


@pytest.mark.parametrize("n_children", [[1], [16], [17], [160], [0], [0, 40, 3]])
@pytest.mark.parametrize("first", [0, 3])
def test_tasks_cover_every_child_once_in_whole_blocks(n_children, first):
    n_children = np.array(n_children)
    starts = np.minimum(first, n_children)
    sizes = np.arange(1, len(n_children) + 1) * 1000
    found, costs = cut_tasks(sizes, np.ones_like(sizes), starts, n_children, 50)
    assert len(found) == len(costs)
    assert min(costs) > 0
    for cluster in range(len(n_children)):
        own = [task for task in found if task.cluster == cluster]
        assert own[0].from_child == starts[cluster]
        assert own[-1].to_child == n_children[cluster]
        for task, following in pairwise(own):
            assert task.to_child == following.from_child
            assert (task.to_child - task.from_child) % 16 == 0


def test_small_clusters_are_not_cut():
    n = np.full(100, 64)
    found, _ = cut_tasks(np.full(100, 500), n, np.zeros_like(n), n, 50)
    assert found == [Task(cluster, 0, 64) for cluster in range(100)]


def test_seeds_are_spread_and_never_zero():
    seeds = {
        int(scrambled(seed_of(s, c) + f)) for s in range(4) for c in range(50) for f in (0, 16)
    }
    assert len(seeds) == 400
    assert 0 not in seeds
    # splitmix64 maps exactly one number to 0.
    assert scrambled(-0x9E3779B97F4A7C15) == 1
