"""The notebooks in examples/ run from top to bottom, and show what they say."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.docs.site import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a script in an empty folder; returns its names."""
    monkeypatch.chdir(tmp_path)
    return lambda name: runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_the_list_names_all_and_nothing_else():
    listed = re.findall(r"\[(\w+)\.py\]\(\1\.py\)", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
    assert len(listed) == 5


def test_they_are_notebooks():
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# %% [markdown]\n# # "), path.name
        assert text.count("\n# %%\n") >= 3, path.name


def test_own_csv_to_server(run):
    names = run("own_csv_to_server")
    assert names["report"]["P@1"] > 0.5
    (tagged,) = names["answer"]["predictions"]
    assert tagged["labels"]
    assert "tents" in names["tagger"].classes_


def test_ambiguous_labels(run):
    names = run("ambiguous_labels")
    gains = [
        names["overlapping"].evaluate(names["test"])[metric]
        - names["plain"].evaluate(names["test"])[metric]
        for metric in ("P@1", "P@5")
    ]
    assert max(gains) > 0
    assert len(names["overlapping"].senses("jaguar")) == 2


def test_labels_of_groups(run):
    known, groups, rounds = run("labels_of_groups")["precision"].values()
    assert known > rounds > 0.8 * known
    assert known > groups > 0.7 * known


def test_better_settings(run):
    names = run("better_settings")
    result = names["result"]
    assert result.best.value >= result.default.value
    assert names["tagger"].settings == result.settings
    assert result.settings["max_leaf_size"] == 50
    assert {"overlap", "solver.cost"} == set(result.searched)


def test_encoder_with_new_labels(run):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    names = run("encoder_with_new_labels")
    assert names["before"]["P@1"] > 0.15
    best = names["tagger"].predict(["stove for camping"], top_k=1)[0][0]
    assert best.label == "camping stoves"
