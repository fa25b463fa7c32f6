"""train --budget."""

from __future__ import annotations

import json

import pytest

from multitudes.tagger import Tagger
from multitudes.tagger.auto.report import AutoReport


def test_what_came_of_a_budget_is_in_the_answer_and_on_the_card(cli, train_file, tmp_path):
    done = cli("train", train_file, "-o", tmp_path / "model", "--budget", "1m", "--json")
    assert done.code == 0, done.err
    report = AutoReport.from_dict(done.json["auto"])
    assert report.budget == 60
    assert done.json["choice"] == report.sentences()[0]
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["events"][-1]["notes"] == report.sentences()
    assert "plan for " in done.err
    quiet = cli("train", train_file, "-o", tmp_path / "other", "--budget", "1m", "-q")
    assert (quiet.code, quiet.err) == (0, "")


def test_a_budget_is_for_auto(cli, train_file, tmp_path):
    wrong = cli("train", train_file, "-o", tmp_path / "m", "--budget", "1m", "-m", "parabel")
    assert wrong.code != 0
    assert "a budget is for the model 'auto'" in wrong.err
    unclear = cli("train", train_file, "-o", tmp_path / "m", "--budget", "a while")
    assert unclear.code != 0
    assert "such as 90s, 10m, 1h30m" in unclear.err
    assert not (tmp_path / "m").exists()


def test_who_says_nothing_has_a_minute(cli, train_file, tmp_path):
    done = cli("train", train_file, "-o", tmp_path / "model", "--json")
    assert done.code == 0, done.err
    assert AutoReport.from_dict(done.json["auto"]).budget == 60


@pytest.mark.parametrize(
    "arguments",
    [["--budget", "none"], ["--set", "solver.cost=2"], ["--features", "chars"],
     ["--checkpoint", "run"], ["--validation", "0.2", "--refit"]],
)  # fmt: skip
def test_who_describes_the_training_has_no_budget(
    cli, train_file, tmp_path, monkeypatch, arguments
):
    monkeypatch.chdir(tmp_path)
    done = cli("train", train_file, "-o", "model", "--json", *arguments)
    assert done.code == 0, done.err
    assert "auto" not in done.json


def test_groups_have_no_budget(cli, tmp_path):
    """Also where only the data say that labels are those of groups."""
    lines = [
        {"text": f"{word} number {i}", "group": str(i // 2)}
        for i, word in enumerate(["apple", "pear", "moon", "orbit"] * 4)
    ]
    groups = [{"group": str(i), "labels": ["fruit", "planets"]} for i in range(8)]
    data = tmp_path / "grouped"
    data.mkdir()
    for name, records in (("instances", lines), ("groups", groups)):
        content = "".join(json.dumps(record) + "\n" for record in records)
        (data / f"{name}.jsonl").write_text(content)
    done = cli("train", data, "-o", tmp_path / "m", "--json")
    assert done.code == 0, done.err
    assert "auto" not in done.json


def test_what_validates_is_not_learned_from(cli, train_file, tmp_path, monkeypatch):
    seen = []
    fit = Tagger.fit

    def noted(self, *given, validation=None, **more):
        seen.append((self.budget, validation))
        return fit(self, *given, validation=validation, **more)

    monkeypatch.setattr(Tagger, "fit", noted)
    done = cli("train", train_file, "-o", tmp_path / "model", "--validation", "0.2", "--json")
    assert done.code == 0, done.err
    assert seen == [("60s", None)]
    assert done.json["validation"]["values"]["P@1"] > 0
