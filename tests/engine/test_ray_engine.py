"""Training on a Ray cluster: two machines of one core each, played by processes of this one."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from multitudes import Disentangled, Parabel, XRLinear
from multitudes.cli import main
from multitudes.engine import LocalCluster, current_cluster, ray_cluster
from multitudes.engine.cluster import in_use
from multitudes.engine.ray_engine import LAST_PARTS_PER_CORE, shrinking_parts
from multitudes.errors import ConfigError, MissingExtraError, ResourceError
from multitudes.linear.checkpoint import Checkpoint
from multitudes.tagger import Tagger

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def address():
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # workers import this file
        cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
        cluster.add_node(**NODE)
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def cluster(address):
    with ray_cluster(address):
        yield current_cluster()


def problem():
    rng = np.random.default_rng(0)
    X = sp.random(400, 60, 0.2, "csr", np.float32, random_state=rng)
    return sp.csr_array(X), sp.csr_array((rng.random((400, 50)) < 0.06).astype(np.float32))


def weights(model):
    trees = getattr(model, "trees_", getattr(model, "models_", [model]))
    levels = [level.to_state().arrays for tree in trees for level in tree.levels_]
    return [array for arrays in levels for array in arrays.values()]


def machine_of(shared, items):
    import ray

    time.sleep(0.1)  # so that nobody does it all
    node = ray.get_runtime_context().get_node_id()
    return [(node, shared.flags.writeable, item * shared.sum()) for item in items]


def break_down(shared, items):
    raise ValueError(f"{shared} cannot be done\nfor a reason")


def die_once(shared, items):
    with shared.open("a") as seen:
        seen.write("x")
    if shared.stat().st_size == 1:
        os._exit(1)
    return items


def run(cluster, function, shared, n=40):
    done = []
    costs = [float(n - i) for i in range(n)]
    results = cluster.map(function, shared, list(range(n)), costs=costs, advance=done.append)
    return results, sum(done)


def test_work_goes_to_all_machines_and_comes_back_in_order(cluster):
    results, done = run(cluster, machine_of, np.ones(5))
    assert [value for *_, value in results] == [5 * i for i in range(40)]
    assert len({node for node, *_ in results}) == 2
    assert not any(writeable for _, writeable, _ in results)
    assert done == pytest.approx(sum(range(41)))


def test_what_is_lost_with_a_worker_is_done_again(cluster, tmp_path):
    results, _ = run(cluster, die_once, tmp_path / "seen")
    assert results == list(range(40))


def test_what_cannot_be_done_is_an_error_of_one_line(cluster):
    with pytest.raises(ResourceError, match="could not do its work: ValueError: .*reason$"):
        run(cluster, break_down, "this")
    assert run(cluster, machine_of, np.ones(5))[0]  # and the next work is done


@pytest.mark.parametrize(
    "model",
    [
        XRLinear(max_leaf_size=10, random_state=3),
        XRLinear(max_leaf_size=10, negatives="both"),
        Parabel(max_leaf_size=10, n_trees=2),
        Disentangled(XRLinear(max_leaf_size=10)),  # what "auto" takes
    ],
)
def test_weights_are_those_of_one_machine(cluster, model):
    far = clone(model).fit(*problem())
    with in_use(None):
        near = clone(model).fit(*problem())
    for ours, theirs in zip(weights(near), weights(far), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_run_that_was_stopped_goes_on(cluster, tmp_path, monkeypatch):
    whole = XRLinear(max_leaf_size=10).fit(*problem())
    keep = Checkpoint.keep

    def keep_and_stop(self, name, value):
        keep(self, name, value)
        if name == "level-0":
            raise KeyboardInterrupt

    model = XRLinear(max_leaf_size=10, checkpoint=tmp_path / "run")
    monkeypatch.setattr(Checkpoint, "keep", keep_and_stop)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(*problem())
    monkeypatch.setattr(Checkpoint, "keep", keep)
    for ours, theirs in zip(weights(whole), weights(clone(model).fit(*problem())), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_work_is_the_clusters(cluster, monkeypatch):
    parts = []
    monkeypatch.setattr(
        "multitudes.linear.train_level.run_tasks", lambda *_: parts.append(1) or 1 / 0
    )
    with pytest.raises(ResourceError, match="division by zero"):
        XRLinear().fit(*problem())
    assert parts == []  # not here


def test_the_command_line_trains_there(cluster, address, tmp_path, capsys):
    lines = [f'{{"text": "{word} {i}", "labels": ["{word}"]}}' for i in range(9) for word in "ab"]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    command = ["train", str(tmp_path / "train.jsonl"), "-o", str(tmp_path / "model"), "-q"]
    with pytest.raises(SystemExit) as ended:
        main([*command, "-m", "xr-linear", "--ray", address])
    assert not ended.value.code
    assert Tagger.load(tmp_path / "model").predict(["b"], top_k=1)[0][0].label == "b"
    with pytest.raises(SystemExit) as ended:
        main([*command, "--force", "-m", "otseq2set", "--ray", address])
    assert ended.value.code
    assert "--ray trains label trees, and otseq2set is not a tree model" in capsys.readouterr().err


def test_another_version_on_a_machine_is_refused(cluster, address, monkeypatch):
    monkeypatch.setattr("multitudes.engine.ray_engine.__version__", "9.9")
    said = r"has multitudes .*, this one 9\.9: install the same"
    with pytest.raises(ConfigError, match=said), ray_cluster(address):
        pass


def test_a_connection_of_the_programs_own_stays(cluster, address):
    import ray

    before = current_cluster()
    with ray_cluster(address):
        assert current_cluster() is not before
    assert current_cluster() is before
    assert ray.is_initialized()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("nonsense", "is 'auto', 'HOST:PORT' or 'ray://HOST:PORT', got 'nonsense'"),
        ("localhost:1", "no Ray cluster at 'localhost:1' .*ray start --head"),
        ("ray://localhost:99999999", "no Ray cluster at"),
    ],
)
def test_an_address_where_nobody_is(monkeypatch, wrong, said):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ConfigError, match=said), ray_cluster(wrong):
        pass


def test_without_ray_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    said = r"pip install 'multitudes\[ray\]'"
    with pytest.raises(MissingExtraError, match=said), ray_cluster():
        pass


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=200), st.integers(1, 20))
def test_parts_are_runs_of_items_and_get_shorter(costs, n_cores):
    parts = shrinking_parts(costs, n_cores)
    assert [i for part in parts for i in part] == list(range(len(costs)))
    smallest = sum(costs) / (LAST_PARTS_PER_CORE * n_cores)
    for part in parts:
        left = sum(costs[part[0] :])
        assert sum(costs[i] for i in part[:-1]) < max(left / (4 * n_cores), smallest) + 1e-6


def tenfold(shared, items):
    return [10 * item for item in items]


@pytest.mark.parametrize("here", [False, True])
def test_what_is_found_on_the_way_is_done_too(cluster, here):
    todo = [1, 2]

    def further(number):
        item = todo[number]
        new = [(more, 1.0) for more in (2 * item, 2 * item + 1)] if item < 8 else []
        todo.extend(more for more, _ in new)
        return new

    where = LocalCluster(2) if here else cluster
    found = where.map(
        tenfold, None, list(todo), costs=[1.0, 1.0], advance=lambda cost: None, further=further
    )
    assert found == [10 * item for item in todo]
    assert len(todo) > 20
