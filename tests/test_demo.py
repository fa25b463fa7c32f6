from __future__ import annotations

import pytest

from multitudes import demo
from multitudes.tagger import Tagger


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "model"
    return folder, list(demo.steps(n_instances=2_000, output=folder))


def test_the_report_is_of_a_model_that_learned_something(steps):
    (report,) = [step.report for step in steps[1] if step.report is not None]
    assert report["P@1"] > 0.5
    assert report.n_instances == 400


def test_texts_are_tagged_with_scores_and_right_ones_marked(steps):
    (rows,) = [step.rows for step in steps[1] if step.rows]
    assert len(rows) == demo.N_SHOWN
    assert all(len(text) <= demo.TEXT_WIDTH for text, _ in rows)
    assert any("*" in labels for _, labels in rows)


def test_the_model_is_saved_where_asked(steps):
    assert Tagger.load(steps[0], verify=True).predict(["leather belt"], top_k=1)[0]


def test_it_says_what_to_try_next(steps):
    assert f"multitudes inspect {steps[0]} --tree" in steps[1][-1].text
    assert "multitudes demo -o demo-model" in demo.next_steps(None)


def test_same_seed_same_demo(steps):
    again = list(demo.steps(n_instances=2_000))
    first = [(step.report, step.rows) for step in steps[1] if step.report or step.rows]
    assert [(step.report, step.rows) for step in again if step.report or step.rows] == first
