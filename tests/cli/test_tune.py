"""multitudes tune: settings as a command, as JSON, as a picture."""

from __future__ import annotations

import json
import shlex

import pytest

pytest.importorskip("optuna")

FEW = ("--metric", "p@5", "--budget", "60s", "--trials", "3", "--search", "solver.cost", "-t", "1")


@pytest.fixture
def tuned(cli, train_file, tmp_path):
    """A search of three trials, with everything it can write."""
    return cli(
        "tune", train_file, *FEW, "--study", tmp_path / "study.db", "-o", tmp_path / "best.json",
        "--plot", tmp_path / "plot.svg", "--set", "branching=4",
    )  # fmt: skip


def test_a_search_ends_with_a_command_that_trains(cli, tuned, tmp_path):
    assert tuned.code == 0, tuned.err
    assert "trial 0 (the default)" in tuned.err
    found = json.loads((tmp_path / "best.json").read_text())
    assert [one["number"] for one in found["trials"]] == [0, 1, 2]
    assert found["settings"]["branching"] == 4
    *table, command = tuned.out.strip().splitlines()
    assert command == found["command"]
    assert any("default" in line for line in table)
    words = shlex.split(command.replace("MODEL", str(tmp_path / "model")))
    assert words[:2] == ["multitudes", "train"]
    assert cli(*words[1:], "-q").code == 0
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")


def test_json_goes_on_where_the_study_ended(cli, tuned, train_file, tmp_path):
    again = cli(
        "tune", train_file, *FEW, "--study", tmp_path / "study.db", "--set", "branching=4", "--json"
    )
    before = json.loads((tmp_path / "best.json").read_text())
    assert again.code == 0, again.err
    assert again.json["trials"] == before["trials"]
    assert again.json["difference"] == before["difference"]


def test_files_may_be_chosen_and_compared_on(cli, train_file, test_file):
    found = cli(
        "tune", train_file, *FEW, "--validation", test_file, "--test", "0.2", "--json", "-q",
        "--metric", "p@1",
    )  # fmt: skip
    assert found.code == 0, found.err
    assert found.json["sizes"] == {"train": 96, "largest part": 96, "validation": 30, "test": 24}
    assert found.json["metric"] == "P@1"
    assert found.err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "ndgc@5"], "did you mean 'nDCG@5'"),
        (["--budget", "soon"], "a budget is a time"),
        (["--search", "solver.kost"], "did you mean 'solver.cost'"),
        (["--search", "solver.cost=9..1"], "must rise"),
        (["--set", "solver.kost=1"], "did you mean 'solver.cost'"),
        (["--model", "auto"], "one is tuned at a time"),
        (["--test", "1.5"], "--test must be a share"),
        (["--plot", "plot.gif"], "--plot writes .png"),
        (["-o", "missing/best.json"], "there is no folder"),
        (["--study", "missing/study.db"], "there is no folder"),
    ],
)
def test_mistakes_are_said_before_the_search(cli, train_file, arguments, message):
    found = cli("tune", train_file, "--trials", 1, *arguments)
    assert found.code == 2
    assert message in " ".join(found.err.split())
    assert "trial 0" not in found.err


def test_what_is_read_is_not_written_over(cli, train_file, tmp_path):
    before = train_file.read_bytes()
    for option in ("-o", "--study"):
        found = cli("tune", train_file, "--trials", 1, option, train_file)
        assert found.code == 2
        assert "would be written over the data" in " ".join(found.err.split())
    other = tmp_path / "other.jsonl"
    other.write_bytes(before)
    found = cli("tune", train_file, "--trials", 1, "--validation", other, "-o", other)
    assert found.code == 2
    assert train_file.read_bytes() == other.read_bytes() == before


def test_ctrl_c_shows_what_was_found(cli, train_file, tmp_path, monkeypatch):
    from multitudes.tuning.learning import Learner

    calls, measured = [], Learner.measured

    def stop(self, settings, n_instances):
        calls.append(settings)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return measured(self, settings, n_instances)

    monkeypatch.setattr(Learner, "measured", stop)
    study = tmp_path / "study.db"
    found = cli("tune", train_file, *FEW, "--study", study, "--trials", "9")
    assert found.code == 130
    assert "multitudes train" in found.out
    assert f"the finished trials are in {study}" in " ".join(found.err.split())
