"""A fit that was killed goes on where it stopped, and never with another fit's stages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.labels import LabelTree
from multitudes.linear import OneVsAll, Parabel, SolverConfig, XRLinear
from multitudes.linear.checkpoint import Checkpoint, clear_used, fingerprint

from .problems import assert_same_levels, assert_same_predictions, problem

SMALL = {"branching": 4, "max_leaf_size": 5}
ROOT = Path(__file__).parents[2]

# Trains with a checkpoint and dies, as by kill -9, once the stage named in argv[3] is on disk.
KILLED = """
import os, sys
import scipy.sparse as sp
from multitudes.linear import Parabel, XRLinear
from multitudes.linear.checkpoint import Checkpoint

folder, model, last = sys.argv[1:]
keep = Checkpoint.keep

def keep_and_die(self, name, stage):
    keep(self, name, stage)
    if name == last:
        os._exit(137)

Checkpoint.keep = keep_and_die
X, Y = (sp.load_npz(f"{folder}/{name}.npz") for name in "XY")
settings = {"max_leaf_size": 5, "checkpoint": f"{folder}/stages", "n_jobs": 1}
{"xr": lambda: XRLinear(branching=4, **settings), "parabel": lambda: Parabel(**settings)}[model]().fit(X, Y)
"""  # noqa: E501


@pytest.fixture(scope="module")
def data():
    return problem(n=200, n_features=60, n_labels=80)


@pytest.fixture(scope="module")
def plain(data):
    """What a fit without interruption makes."""
    return XRLinear(**SMALL).fit(*data)


@pytest.fixture(scope="module")
def interrupted(data, tmp_path_factory):
    """A function: the stages left by a process that was killed after the stage of a name."""

    def run(model, last):
        folder = tmp_path_factory.mktemp("killed")
        for name, matrix in zip("XY", data, strict=True):
            sp.save_npz(folder / f"{name}.npz", matrix)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), model, last],
            cwd=ROOT, env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}, check=False,
        )  # fmt: skip
        assert done.returncode == 137
        return folder / "stages"

    return run


@pytest.fixture(scope="module")
def left_behind(interrupted):
    """Stages of a fit that was killed after its first level."""
    return interrupted("xr", "level-0")


@pytest.fixture
def stages(left_behind, tmp_path):
    """A copy of them to use up."""
    shutil.copytree(left_behind, tmp_path / "stages")
    return tmp_path / "stages"


@pytest.fixture
def trained(monkeypatch):
    """Names of the stages kept from here on."""
    names = []
    keep = Checkpoint.keep

    def note(self, name, stage):
        names.append(name)
        keep(self, name, stage)

    monkeypatch.setattr(Checkpoint, "keep", note)
    return names


LATER = ["level-1", "level-2"]  # what the killed fit did not get to
ALL = ["tree", "level-0", *LATER]


def names_in(stages):
    return sorted(path.name for path in stages.glob("fit-*/*"))


def test_a_killed_fit_resumes_after_its_last_level_with_the_same_result(
    data, plain, stages, trained
):
    assert names_in(stages) == ["level-0", "tree"]
    model = XRLinear(**SMALL, checkpoint=stages).fit(*data)
    assert trained == LATER
    assert model.tree_ == plain.tree_
    assert_same_levels(model.levels_, plain.levels_)
    assert names_in(stages) == sorted(ALL)  # until the model is saved
    trained.clear()
    XRLinear(**SMALL, checkpoint=stages).fit(*data)
    assert trained == []
    clear_used(stages)
    assert not stages.exists()


def test_settings_that_change_no_weight_do_not_stop_it(data, stages, trained):
    XRLinear(**SMALL, checkpoint=stages, n_jobs=2).fit(*data)
    assert trained == LATER


def test_the_tree_alone_is_worth_keeping(data, plain, stages, trained):
    shutil.rmtree(next(stages.glob("fit-*/level-0")))
    model = XRLinear(**SMALL, checkpoint=stages).fit(*data)
    assert trained == ALL[1:]
    assert_same_levels(model.levels_, plain.levels_)


@pytest.mark.parametrize(
    "other",
    [
        {"random_state": 1},
        {"branching": 5},
        {"max_leaf_size": 6},
        {"weights": "float32"},
        {"negatives": "both"},
        {"beam_width": 3},
        {"solver": SolverConfig(cost=2.0)},
        {"solver": SolverConfig(cost=2.0, epsilon=0.2)},
        {"tree": LabelTree.from_leaves(np.array_split(np.arange(80), 4))},
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_settings_never_pick_up_old_stages(data, stages, trained, other):
    settings = {**SMALL, **other}
    model = XRLinear(**settings, checkpoint=stages).fit(*data)
    assert trained[:2] == ["tree", "level-0"]
    assert_same_levels(model.levels_, XRLinear(**settings).fit(*data).levels_)
    clear_used(stages)
    assert names_in(stages) == ["level-0", "tree"]  # of the fit that may still be resumed


def test_other_data_never_picks_up_old_stages(data, stages, trained):
    X, Y = data
    changed = X.copy()
    changed.data[0] *= 1.5
    fewer = Y.copy()
    fewer[0, fewer.indices[0]] = 0
    for others in ((changed, Y), (X, fewer), (X[:-1], Y[:-1]), (X, Y[::-1])):
        trained.clear()
        XRLinear(**SMALL, checkpoint=stages).fit(*others)
        assert trained[:2] == ["tree", "level-0"]


@pytest.mark.parametrize(
    "given",
    [
        {"sample_weight": np.linspace(0.5, 1.5, 200)},
        {"label_weight": np.linspace(0.5, 1.5, 80)},
        {"hard_negatives": sp.csr_array(np.eye(200, 80, dtype=np.float32))},
        {"label_embeddings": np.eye(80, dtype=np.float32)},
    ],
    ids=lambda given: next(iter(given)),
)
def test_whatever_else_fit_is_given_counts_as_data(data, stages, trained, given):
    model = XRLinear(**SMALL, checkpoint=stages).fit(*data, **given)
    assert trained[:2] == ["tree", "level-0"]
    assert_same_levels(model.levels_, XRLinear(**SMALL).fit(*data, **given).levels_)


def test_trees_of_one_shape_are_told_apart():
    leaves = np.array_split(np.arange(8), 2)
    one, other = (LabelTree.from_leaves(own) for own in (leaves, [leaves[1], leaves[0]]))
    assert repr(one) == repr(other)
    assert fingerprint([one], {}) != fingerprint([other], {})


def test_what_is_absent_is_told_from_what_is_given_elsewhere():
    weight = np.ones(3, np.float32)
    assert fingerprint([weight, None], {}) != fingerprint([None, weight], {})


def test_a_warm_start_goes_by_the_tree_it_starts_from(data, stages, trained):
    model = XRLinear(**SMALL, warm_start=True, random_state=7).fit(*data)
    tree = model.tree_
    trained.clear()
    assert model.set_params(random_state=0, checkpoint=stages).fit(*data).tree_ is tree
    assert trained[:2] == ["tree", "level-0"]


@pytest.mark.parametrize("stage", ["tree", "level-0"])
@pytest.mark.parametrize("harm", ["cut", "no manifest"])
def test_a_damaged_stage_is_made_again(data, plain, stages, trained, stage, harm):
    folder = next(stages.glob(f"fit-*/{stage}"))
    damage(folder, harm)
    model = XRLinear(**SMALL, checkpoint=stages).fit(*data)
    assert trained == [stage, *LATER]
    assert_same_levels(model.levels_, plain.levels_)


def damage(folder, harm):
    if harm == "no manifest":
        next(folder.glob("*.json")).unlink()
        return
    largest = max(folder.rglob("*.safetensors"), key=lambda path: path.stat().st_size)
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])


def test_an_ensemble_keeps_the_trees_it_has(data, interrupted, trained):
    stages = interrupted("parabel", "trained-1")
    plain = Parabel(max_leaf_size=5).fit(*data)
    trained.clear()
    model = Parabel(max_leaf_size=5, checkpoint=stages).fit(*data)
    assert [name for name in trained if name != "tree" and "level" not in name] == ["trained-2"]
    assert trained.count("tree") == 1
    for one, other in zip(model.trees_, plain.trees_, strict=True):
        assert one.tree_ == other.tree_
        assert_same_levels(one.levels_, other.levels_)
    assert [tree.checkpoint for tree in model.trees_] == [stages] * 3
    kept = [name for name in names_in(stages) if name.startswith("trained")]
    assert kept == ["trained-0", "trained-1", "trained-2"]
    clear_used(stages)
    assert not stages.exists()


def test_levels_that_depend_on_each_other_resume_too(data, tmp_path, monkeypatch):
    """With matched negatives a level is made of what the level above predicts."""
    settings = {**SMALL, "negatives": "matched"}
    plain = XRLinear(**settings).fit(*data)
    keep = Checkpoint.keep

    def keep_and_stop(self, name, stage):
        keep(self, name, stage)
        if name == "level-1":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", keep_and_stop)
        with pytest.raises(KeyboardInterrupt):
            XRLinear(**settings, checkpoint=tmp_path).fit(*data)
    assert names_in(tmp_path) == ["level-0", "level-1", "tree"]
    assert_same_levels(XRLinear(**settings, checkpoint=tmp_path).fit(*data).levels_, plain.levels_)


@pytest.mark.parametrize("make", [XRLinear, OneVsAll, Parabel])
def test_nothing_stays_behind_when_the_model_is_safe(data, tmp_path, make):
    X, Y = data
    model = make(checkpoint=tmp_path / "stages").fit(X, Y)
    assert names_in(tmp_path / "stages") != []
    clear_used(tmp_path / "stages")
    assert not (tmp_path / "stages").exists()
    assert_same_predictions(model.predict(X), make().fit(X, Y).predict(X))


def test_a_file_of_somebody_else_is_left_alone(data, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    XRLinear(**SMALL, checkpoint=tmp_path).fit(*data)
    clear_used(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_resumed_fit_says_so(data, stages, capfd):
    XRLinear(**SMALL, checkpoint=stages, verbose=True).fit(*data)
    said = capfd.readouterr().err
    assert f"going on from what is saved in {stages}" in said
    assert "the label tree, level 1\n" in said
