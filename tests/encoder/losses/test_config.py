import pytest

from multitudes.encoder.losses.config import LossConfig
from multitudes.errors import ConfigError


def test_defaults_are_those_of_the_paper():
    config = LossConfig()
    assert (config.kind, config.margin) == ("triplet", "dynamic")
    assert (config.gamma_min, config.gamma_max, config.fixed_margin) == (0.1, 0.3, 0.3)
    assert config.n_negatives == 100
    assert config.softmax_weights
    assert config.temperature == 0.1
    assert not config.detach_weights
    assert config.softmax_temperature == 0.05
    assert config.query_to_prototype
    assert config.query_to_label
    assert config.label_to_query
    assert (config.regularizer_weight, config.regularizer_margin) == (0.1, 0.1)


MARGINS = ("gamma_min", "gamma_max", "fixed_margin", "regularizer_margin")


@pytest.mark.parametrize("name", MARGINS)
def test_margins_are_differences_of_cosines(name):
    rest = {"gamma_max": 2.0} if name == "gamma_min" else {"gamma_min": 0.0}
    for value in (0.0, 2.0):
        assert getattr(LossConfig(**rest | {name: value}), name) == value
    for value in (-0.01, 2.01):
        with pytest.raises(ConfigError, match=name):
            LossConfig(**rest | {name: value})


def test_the_smallest_numbers_that_make_sense():
    least = LossConfig(n_negatives=1, regularizer_weight=0.0, gamma_min=0.3, gamma_max=0.3)
    assert (least.n_negatives, least.regularizer_weight, least.gamma_min) == (1, 0.0, 0.3)
    for name, value in (
        ("n_negatives", 0), ("regularizer_weight", -0.1), ("temperature", 0.0),
        ("softmax_temperature", 0.0),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=name):
            LossConfig(**{name: value})


def test_gamma_bounds_must_be_in_order():
    with pytest.raises(ConfigError, match="gamma_min must be <= gamma_max"):
        LossConfig(gamma_min=0.4, gamma_max=0.3)


def test_one_term_must_be_left():
    with pytest.raises(ConfigError, match="no term"):
        LossConfig(query_to_prototype=False, query_to_label=False, label_to_query=False)


@pytest.mark.parametrize("name", ["kind", "margin"])
def test_what_is_not_to_choose_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name} must be one of"):
        LossConfig(**{name: "adaptive"})
