from __future__ import annotations

import re

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
    (shown,) = [step.text for step in steps[1] if "never seen" in step.text]
    labels = re.findall(r"-> (.*)", shown)
    assert len(labels) == demo.N_SHOWN
    assert all(re.search(r"\d\.\d\d", line) for line in labels)
    assert any("*" in line for line in labels)


def test_the_model_is_saved_where_asked(steps):
    assert Tagger.load(steps[0], verify=True).predict(["leather belt"], top_k=1)[0]


def test_it_says_what_to_try_next(steps):
    assert f"multitudes inspect {steps[0]} --tree" in steps[1][-1].text
    assert "multitudes demo -o demo-model" in demo.next_steps(None)


def test_same_seed_same_demo(steps):
    again = list(demo.steps(n_instances=2_000))
    assert [step.report for step in again] == [
        step.report for step in steps[1] if not step.text.startswith("\nSaved")
    ]
    assert [step.text for step in again if "never seen" in step.text] == [
        step.text for step in steps[1] if "never seen" in step.text
    ]
