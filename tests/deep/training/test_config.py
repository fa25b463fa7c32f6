"""The settings, and the page that tells of them."""

import re
from pathlib import Path

import pytest

from multitudes.deep.training import TrainingConfig, train
from multitudes.deep.training.run import NOT_IN_RESULT
from multitudes.errors import ConfigError

PAGE = (Path(__file__).parents[3] / "docs" / "training.md").read_text()


def test_the_page_has_every_setting_with_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE, flags=re.MULTILINE))
    defaults = {name: default for name, _, default, _ in TrainingConfig.describe()}
    assert {name: eval(text.strip("`")) for name, text in rows.items()} == defaults


def test_the_page_names_the_settings_that_may_change_when_a_run_goes_on():
    sentence = re.search(r"change no weight may change:(.+?)\.", PAGE, flags=re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", sentence)) == NOT_IN_RESULT
    assert {name for name, *_ in TrainingConfig.describe()} >= NOT_IN_RESULT


def test_the_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(re.search(r"```python\n(.+?)```", PAGE, flags=re.DOTALL)[1], names)
    assert names["train"] is train
    assert len(names["history"].epochs) == 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0}, {"learning_rate": 0}, {"weight_decay": -1}, {"accumulate": 0},
        {"clip": 0}, {"patience": 0}, {"log_every": 0}, {"evaluate_every": 0}, {"random_state": -1},
        {"schedule": "steps"}, {"precision": "fp8"}, {"device": "tpu"}, {"epochs": 1.5},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_wrong_values_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=f"TrainingConfig.{next(iter(wrong))} must be"):
        TrainingConfig(**wrong)
