import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from multitudes.deep.training.state_dicts import pack_state, unpack_state
from multitudes.encoder.sampling import BatchSampler, SamplerConfig
from multitudes.errors import ConfigError, DataError
from tests.encoder.sampling.problems import random_labels, two_topics

EPOCHS = 5
COLUMN = np.full(60, -1, np.int32)


def sampler(Y=None, *, random_state=0, **settings):
    settings = {"batch_size": 8, "prefetch": 0, "cluster_threads": 1, **settings}
    Y = random_labels() if Y is None else Y
    return BatchSampler(Y, SamplerConfig(**settings), epochs=EPOCHS, random_state=random_state)


def train(sampler, epochs=range(EPOCHS), *, start_step=0, stop=None):
    """The batches of a training whose embeddings depend on instance, epoch and step alone."""
    seen = []
    for epoch in epochs:
        for step, batch in enumerate(sampler.epoch(epoch, start_step), start_step):
            rng = np.random.default_rng([epoch, step])
            H = two_topics()[batch.instances] + 0.01 * rng.standard_normal((len(batch), 8))
            sampler.remember(torch.from_numpy(batch.instances), torch.from_numpy(H).float())
            seen.append(batch)
            if (epoch, step) == stop:
                return seen
        start_step = 0
    return seen


def assert_same(one, two):
    assert len(one) == len(two) > 0
    for a, b in zip(one, two, strict=True):
        for field in dataclasses.fields(a):
            np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))


@given(
    random_state=st.integers(0, 1000),
    positives=st.integers(1, 4),
    fixed=st.booleans(),
    density=st.sampled_from([0.03, 0.1, 0.5]),
)
def test_exactly_the_pairs_of_y_are_known_and_each_positive_is_one(
    random_state, positives, fixed, density
):
    Y = random_labels(30, 20, random_state=random_state, density=density)
    batches = sampler(
        Y, random_state=random_state, positives=positives, fixed_n_labels=fixed, clustered=False
    ).epoch(0)
    for batch in batches:
        target = Y.toarray()[np.ix_(batch.instances, batch.labels)]
        known = np.zeros_like(target)
        known[batch.known_rows, batch.known_columns] = 1
        np.testing.assert_array_equal(known, target)
        assert len(batch.known_rows) == target.sum()
        drawn = batch.positives >= 0
        rows = np.nonzero(drawn)[0]
        assert target[rows, batch.positives[drawn]].all()
        wanted = np.minimum(np.diff(Y.indptr)[batch.instances], positives)
        np.testing.assert_array_equal(drawn.sum(axis=1), wanted)


@pytest.mark.parametrize("clustered", [False, True])
def test_each_instance_with_a_label_comes_once_an_epoch(clustered):
    source = sampler(clustered=clustered, keep_last=True)
    batches = train(source)
    per_epoch = np.array_split(np.arange(len(batches)), EPOCHS)
    for epoch in per_epoch:
        instances = np.concatenate([batches[i].instances for i in epoch])
        np.testing.assert_array_equal(np.sort(instances), source.instances)
    assert source.n_left_out == 60 - len(source.instances) > 0


def test_an_incomplete_batch_is_dropped_or_kept():
    Y = sp.csr_array(np.ones((21, 3), np.float32))
    dropped, kept = sampler(Y, clustered=False), sampler(Y, clustered=False, keep_last=True)
    assert [len(b) for b in dropped.epoch(0)] == [8, 8]
    assert [len(b) for b in kept.epoch(0)] == [8, 8, 5]
    assert (dropped.n_steps, kept.n_steps) == (2, 3)


def test_a_set_smaller_than_a_batch_is_one_batch():
    Y = sp.csr_array(np.ones((5, 3), np.float32))
    assert [len(b) for b in sampler(Y, clustered=False).epoch(0)] == [5]


@pytest.mark.parametrize("prefetch", [0, 3])
def test_the_same_seed_gives_the_same_batches_with_or_without_a_thread(prefetch):
    settings = {"positives": 2, "fixed_n_labels": True}
    assert_same(train(sampler(**settings)), train(sampler(prefetch=prefetch, **settings)))


def test_another_seed_and_another_epoch_give_other_batches():
    first, second = list(sampler(clustered=False).epoch(0)), list(sampler(random_state=1).epoch(0))
    assert not np.array_equal(first[0].instances, second[0].instances)
    later = list(sampler(clustered=False).epoch(1))
    assert not np.array_equal(first[0].instances, later[0].instances)


@pytest.mark.parametrize("stop", [(0, 2), (1, 0), (2, 1), (2, 3), (3, 6)])
@pytest.mark.parametrize("snapshot_at", [0.0, 0.5, 1.0])
def test_a_training_resumed_in_mid_epoch_sees_the_same_batches(stop, snapshot_at):
    settings = {"positives": 2, "snapshot_at": snapshot_at}
    whole = train(sampler(**settings))
    stopped = sampler(**settings)
    before = train(stopped, stop=stop)
    state = unpack_state(pack_state("sampler", stopped.state_dict()))  # as a checkpoint keeps it
    resumed = sampler(**settings)
    resumed.load_state_dict(state)
    epoch, step = stop
    after = train(resumed, range(epoch, EPOCHS), start_step=step + 1)
    assert_same(whole, before + after)


def test_later_batches_are_made_of_similar_instances():
    Y = sp.csr_array(np.ones((64, 4), np.float32))
    batches = train(sampler(Y, batch_size=16))
    mixed = [abs((batch.instances % 2).mean() - 0.5) for batch in batches]
    # The last epochs' clusters are as large as a batch: each batch is of one topic.
    assert mixed[-4:] == [0.5] * 4
    assert max(mixed[:4]) < 0.4  # the first epoch is random


def test_clusters_that_nobody_gave_embeddings_for_are_an_error():
    with pytest.raises(ConfigError, match="call remember.* after every step"):
        sampler().epoch(1)


def test_resuming_in_mid_epoch_without_the_state_is_an_error():
    source = sampler()
    train(source, range(1))
    with pytest.raises(ConfigError, match="resume with load_state_dict"):
        sampler().epoch(1, 3)


def test_a_state_of_other_data_is_refused():
    with pytest.raises(DataError, match="n_instances=.* resume with the same data"):
        sampler().load_state_dict(sampler(random_labels(random_state=5)).state_dict())


def test_fixed_n_labels_fills_up_with_labels_that_occur_in_training():
    Y = random_labels(60, 200)
    seen = np.unique(Y.indices)
    batches = list(sampler(Y, positives=2, fixed_n_labels=True, clustered=False).epoch(0))
    assert {len(batch.labels) for batch in batches} == {16}
    for batch in batches:
        assert (np.diff(batch.labels) > 0).all()
        assert np.isin(batch.labels, seen).all()
    few = sampler(Y[:, :10], positives=4, fixed_n_labels=True, clustered=False)
    assert {len(b.labels) for b in few.epoch(0)} == {len(np.unique(Y[:, :10].indices))}


@pytest.mark.parametrize("batch_size", [3, 30])  # of 60 labels few are used, and most
def test_fillers_are_drawn_evenly(batch_size):
    Y = sp.csr_array((np.ones(60, np.float32), np.arange(60), np.arange(61)), shape=(60, 60))
    settings = {"batch_size": batch_size, "clustered": False, "fixed_n_labels": True}
    counts = np.zeros(60)
    for random_state in range(60):
        source = sampler(Y, random_state=random_state, **settings)
        batch = source._batch(np.zeros(batch_size, np.int64), source._rng(1), COLUMN)
        counts[batch.labels] += 1
    assert counts[0] == 60  # the positive of all instances
    expected = 60 * (batch_size - 1) / 59
    np.testing.assert_allclose(counts[1:].mean(), expected)
    assert counts[1:].max() < expected + 5 * np.sqrt(expected)
    assert np.count_nonzero(counts) > 50


def test_embeddings_of_all_instances_may_come_before_training():
    source = sampler(snapshot_at=0.0)
    source.remember(torch.arange(60), torch.from_numpy(two_topics()[:60]))
    assert len(train(source)) == EPOCHS * source.n_steps


def test_y_without_any_label_is_an_error():
    with pytest.raises(DataError, match="no instance has a label"):
        sampler(sp.csr_array((4, 3), dtype=np.float32))
