"""The search: what it finds, what it says of it, when it ends, what it survives."""

from __future__ import annotations

import time

import pytest

from multitudes import ConfigError, DataError, Tagger, TrainingError
from multitudes.config import among, between
from multitudes.tuning import Tuner, TuningConfig
from tests.tuning.toy import Toy, toy_data, toy_tagger

DATA = toy_data()


def tuned(n_trials=12, *, tagger=None, data=DATA, most_parts=1, budget=60, **arguments):
    config = TuningConfig(n_trials=n_trials, most_parts=most_parts)
    tuner = Tuner(tagger or toy_tagger(), budget=budget, config=config, **arguments)
    return tuner.tune(data)


def test_it_finds_what_is_better_and_says_so():
    result = tuned(25)
    assert result.best.settings["spoil"] < 0.3
    assert result.settings == result.best.settings
    assert result.is_better
    assert result.difference.low > 0
    assert result.difference.p_value < 0.01
    assert "better than the default" in result.verdict()
    assert result.tagger().settings == result.settings
    assert next(iter(result.importances())) == "spoil"


def test_the_default_is_the_first_trial_and_fixed_settings_are_in_all():
    result = tuned(4, tagger=toy_tagger(flavor="sour"))
    assert result.default is result.trials[0]
    assert result.trials[0].settings == {}
    assert all("flavor" not in one.settings for one in result.trials)
    assert result.settings["flavor"] == "sour"
    assert set(result.searched) == {"spoil"}


def test_a_default_that_nothing_beats_is_kept():
    result = tuned(6, tagger=Tagger(Toy(spoil=0.0)))
    assert result.ended_by == "perfect"
    assert len(result.trials) == 1
    assert result.best.number == 0
    assert result.difference is None
    assert not result.is_better
    assert result.settings == {}
    assert "keep it" in result.verdict()


def test_what_makes_no_difference_is_not_called_better():
    result = tuned(6, search={"flavor": among("sour", "salty", "bitter")})
    assert result.best.number == 0
    assert not result.is_better


def test_the_same_seed_gives_the_same_trials():
    one, other = (tuned(14) for _ in range(2))
    assert [trial.settings for trial in one.trials] == [trial.settings for trial in other.trials]


def test_bad_trials_learn_from_a_small_part_only():
    result = tuned(15, data=toy_data(6000), most_parts=3)
    sizes = [tuple(one.values) for one in result.trials]
    assert sizes[0] == (533, 1600, 4800)
    early = [one for one in result.trials if one.state == "ended early"]
    assert early
    assert all(len(one.values) < 3 for one in early)
    assert result.best.value >= max(one.value for one in result.trials if one.value is not None)


def test_failures_are_recorded_and_the_search_goes_on(before_fit):
    def fail(model, n):
        if model.spoil > 0.62:
            raise MemoryError("no memory left")
        if 0.3 < model.spoil < 0.6:
            raise TrainingError("the loss is not a number")

    before_fit(fail)
    result = tuned(20)
    failed = [one for one in result.trials if one.state == "failed"]
    assert {one.error for one in failed} == {
        "the loss is not a number",
        "MemoryError: no memory left",
    }
    assert all(one.value is None for one in failed)
    assert result.best.settings["spoil"] < 0.3
    assert any("The first failure" in line for line in result.remarks())


def test_a_default_that_fails_is_not_compared_with(before_fit):
    def fail(model, n):
        if model.spoil == 0.6:
            raise MemoryError

    before_fit(fail)
    result = tuned(12)
    assert result.default is None
    assert result.difference is None
    assert result.trials[0].error == "MemoryError"
    assert "the default failed" in result.verdict()


def test_if_all_fail_the_search_ends_with_the_reason(before_fit):
    def fail(model, n):
        raise TrainingError("the loss is not a number")

    before_fit(fail)
    with pytest.raises(TrainingError, match="first 5 trials failed.*loss is not a number"):
        tuned(50)


def test_a_few_trials_that_all_fail_are_told_apart_from_no_time(before_fit):
    def fail(model, n):
        raise MemoryError

    before_fit(fail)
    with pytest.raises(TrainingError, match="no trial was finished.*MemoryError"):
        tuned(2)


def test_data_that_no_settings_can_use_is_an_error_at_once(before_fit):
    def fail(model, n):
        raise DataError("no text has a word")

    before_fit(fail)
    with pytest.raises(DataError, match="no text has a word"):
        tuned()


def test_it_ends_in_time():
    started = time.monotonic()
    values = {"spoil": between(0.3, 0.9)}
    result = tuned(None, tagger=toy_tagger(seconds=0.05), budget=1, search=values)
    assert time.monotonic() - started < 2
    assert result.ended_by == "time"
    assert len(result.trials) > 3


def test_a_training_that_runs_on_is_stopped(before_fit):
    def run_on(model, n):
        end = time.monotonic() + (0 if model.spoil == 0.6 else 60)
        while time.monotonic() < end:
            time.sleep(0.01)

    before_fit(run_on)
    started = time.monotonic()
    result = tuned(None, budget=1, search=["spoil"])
    assert time.monotonic() - started < 3
    assert result.best.number == 0
    assert "given up after" in result.trials[1].error


def test_a_budget_for_nothing_is_refused():
    with pytest.raises(ConfigError, match="the time was over before any settings had been tried"):
        tuned(None, tagger=toy_tagger(seconds=20.0), budget=0.7)


def test_parts_are_smaller_if_all_of_the_data_would_take_too_long():
    class Slow(Toy):
        @staticmethod
        def before_fit(model, n):
            time.sleep(n / 16000)

    result = tuned(None, tagger=Tagger(Slow()), data=toy_data(8000), most_parts=3, budget=2)
    assert result.sizes["train"] == 6400
    assert result.sizes["largest part"] < 6400
    assert len(result.trials) > 2
    assert "instances of 6,400" in str(result).replace("\n", " ")


def test_ctrl_c_keeps_what_was_found(before_fit):
    calls = []

    def stop(model, n):
        calls.append(n)
        if len(calls) == 6:
            raise KeyboardInterrupt

    before_fit(stop)
    tuner = Tuner(toy_tagger(), budget=60, config=TuningConfig(most_parts=1))
    with pytest.raises(KeyboardInterrupt):
        tuner.tune(DATA)
    assert tuner.result_.ended_by == "stopped"
    assert tuner.result_.trials[-1].state == "unfinished"
    assert sum(one.state == "finished" for one in tuner.result_.trials) >= 5


def test_when_everything_was_tried_it_ends(before_fit):
    seen = []
    before_fit(lambda model, n: seen.append(model.flavor))
    result = tuned(None, search={"flavor": among("sweet", "sour", "salty")})
    assert result.ended_by == "space"
    assert sorted(seen) == ["salty", "sour", "sweet"]
    assert "was tried" in str(result)


def test_validation_and_test_data_may_be_given():
    validation, test = toy_data(80, seed=1), toy_data(90, seed=2)
    config = TuningConfig(n_trials=3)
    result = Tuner(toy_tagger(), budget=60, config=config).tune(
        DATA, validation=validation, test=test
    )
    assert result.sizes == {"train": 600, "largest part": 600, "validation": 80, "test": 90}


def test_metrics_of_sets_are_tuned_too():
    result = tuned(6, metric="micro-f1", search={"spoil": between(0.0, 0.2)})
    assert result.metric == "micro-F1"
    assert result.best.number != 0
    assert result.is_better


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "ndgc@5"}, "did you mean 'nDCG@5'"),
        ({"budget": "soon"}, "a budget is a time"),
        ({"budget": 0}, "a budget is a time"),
        ({"search": ["spoill"]}, "did you mean 'spoil'"),
        ({"search": {"seconds": None}}, "does not say which values"),
        ({"search": {"spoil": (0, 1)}}, "must be between"),
        ({"tagger": toy_tagger(spoil=0.1), "search": ["spoil"]}, "is fixed and searched"),
        ({"tagger": "xr-linaer"}, "did you mean 'xr-linear'"),
        ({"tagger": "auto"}, "one is tuned at a time"),
        ({"tagger": 3}, "a model's name or a Tagger"),
        ({"config": {"n_trials": 3}}, "must be a TuningConfig"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Tuner(**({"tagger": toy_tagger()} | arguments)).tune(DATA)
