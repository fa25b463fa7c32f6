"""Several models made one on the command line: fuse, and train --members."""

from __future__ import annotations

import shutil

import pytest

from multitudes.tagger import Tagger


@pytest.fixture
def other(cli, train_file, tmp_path):
    """A second model, over parts of words."""
    folder = tmp_path / "other"
    arguments = ("-m", "one-vs-all", "--features", "chars", "-q")
    assert cli("train", train_file, "-o", folder, *arguments).code == 0
    return folder


def test_models_are_fused(cli, model, other, train_file, test_file, tmp_path):
    both = tmp_path / "both"
    learned = cli("fuse", model, other, "-o", both, "--validation", train_file, "--json")
    assert learned.code == 0
    assert set(learned.json["members"]) == {"model", "other"}
    assert learned.json["n_held_out"] == 120
    assert cli("evaluate", both, test_file).code == 0
    assert cli("predict", both, "--text", "leather buckle", "--sets").code == 0
    shown = cli("predict", both, "--text", "leather buckle", "--explain", "-k", 1).out
    assert "model: rank 1" in shown
    assert "other: rank 1" in shown
    assert "fusion is" in cli("inspect", both).out
    assert cli("fuse", model, other, "-o", both).code == 2  # a model is there
    by_rank = cli("fuse", model, other, "-o", both, "--weights", "2,1", "--force")
    assert by_rank.code == 0
    assert "fused by rank, without anything learned" in by_rank.out
    assert "2 models, 5 labels" in by_rank.err
    assert [one.name for one in Tagger.load(both).model_.members_] == ["model", "other"]


def test_models_can_be_referred_to(cli, model, other, train_file, test_file, tmp_path):
    copied, both = tmp_path / "copied", tmp_path / "both"
    arguments = (model, other, "--validation", train_file, "-q", "--force", "-o")
    assert cli("fuse", *arguments, copied).code == 0
    assert cli("fuse", *arguments, both, "--refer").code == 0
    sizes = [sum(file.stat().st_size for file in one.rglob("*.*")) for one in (copied, both)]
    assert sizes[1] < sizes[0] / 2
    text = ["--text", "leather buckle", "--json"]
    assert cli("predict", both, *text).json == cli("predict", copied, *text).json
    assert cli("predict", both, "--verify", *text).code == 0

    # An update makes the changed members its own; what they were made of stays as it is.
    assert cli("update", both, train_file, "-o", tmp_path / "updated", "-q").code == 0
    updated = Tagger.load(tmp_path / "updated").model_
    assert [member.source for member in updated.members_] == [None, None]

    assert cli("update", other, train_file, "-q", "--force").code == 0
    replaced = cli("predict", both, *text)
    assert replaced.code == 4
    assert "which has been replaced by another one since" in replaced.err
    shutil.rmtree(other)
    gone = cli("predict", both, *text)
    assert gone.code == 4
    assert "refers to the model" in gone.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{model}"], "fuse needs two models or more"),
        (["{model}", "{model}"], "is there twice"),
        (["{model}", "nowhere"], "there is no model at nowhere"),
        (["{model}", "b", "--fusion", "mean"], "--fusion must be one of auto, rank"),
        (["{model}", "b", "--fusion", "learned"], "give --validation"),
        (["{model}", "b", "--train", "x"], "--train is for --validation"),
        (["{model}", "b", "--weights", "1,x"], "--weights must be 2 numbers"),
        (["{model}", "b", "--weights", "1,2", "--validation", "x"], "leave out one of them"),
    ],
)
def test_what_cannot_be_fused(cli, model, tmp_path, arguments, message):
    given = [argument.format(model=model) for argument in arguments]
    result = cli("fuse", *given, "-o", tmp_path / "out")
    assert result.code in (2, 4)
    assert message in result.err
    assert not (tmp_path / "out").exists()


def test_members_are_trained_together(cli, train_file, test_file, tmp_path):
    folder = tmp_path / "model"
    trained = cli(
        "train", train_file, "-o", folder, "--members", "xr-linear, one-vs-all@chars",
        "--set", "fusion=calibrated", "xr-linear.branching=4", "--test", test_file,
    )  # fmt: skip
    assert trained.code == 0
    assert "model: an ensemble of xr-linear, one-vs-all@chars" in trained.err
    assert "fusion is calibrated, by nDCG@5 on 36 held-out instances" in trained.err
    ensemble = Tagger.load(folder).model_
    assert ensemble.members_[0].model.branching == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--members", "xr-linear", "--model", "parabel"], "--members takes the place of --model"),
        (["--members", "xr-linear", "--features", "chars"], "xr-linear@chars"),
        (["--members", "xr-linear,"], "there is no model ''"),
        (["--members", "xr-linear", "--set", "branching=4"], "there is no setting 'branching'"),
    ],
)
def test_members_that_make_no_sense(cli, train_file, tmp_path, arguments, message):
    result = cli("train", train_file, "-o", tmp_path / "model", *arguments)
    assert result.code == 2
    assert message in result.err
