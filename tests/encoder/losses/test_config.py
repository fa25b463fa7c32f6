import pytest

from multitudes.encoder.losses.config import LossConfig
from multitudes.errors import ConfigError


def test_defaults_are_those_of_the_paper():
    config = LossConfig()
    assert (config.margin, config.gamma_min, config.gamma_max) == ("dynamic", 0.1, 0.3)
    assert config.softmax_weights
    assert not config.detach_weights
    assert config.regularizer_weight == 0.1


def test_gamma_bounds_must_be_in_order():
    with pytest.raises(ConfigError, match="gamma_min must be <= gamma_max"):
        LossConfig(gamma_min=0.4, gamma_max=0.3)


def test_one_term_must_be_left():
    with pytest.raises(ConfigError, match="no term"):
        LossConfig(query_to_prototype=False, query_to_label=False, label_to_query=False)


def test_unknown_margin_is_refused():
    with pytest.raises(ConfigError, match="margin must be one of"):
        LossConfig(margin="adaptive")
