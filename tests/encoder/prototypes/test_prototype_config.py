import json

import pytest

from multitudes.encoder.prototypes.prototype_config import PrototypeConfig
from multitudes.errors import ConfigError


def test_survives_json():
    config = PrototypeConfig(sources=("text", "free"), n_free_vectors=64)
    assert PrototypeConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_uses_only_the_named_sources():
    config = PrototypeConfig(sources=("text", "free"))
    assert config.uses("text")
    assert config.uses("free")
    assert not config.uses("centroid")


@pytest.mark.parametrize("sources", [(), ("text", "text"), "text"])
def test_sources_are_one_or_more_and_different(sources):
    with pytest.raises(ConfigError, match="sources"):
        PrototypeConfig(sources=sources)


def test_misspelt_source_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'centroid'"):
        PrototypeConfig(sources=("text", "centroids"))


def test_number_of_free_vectors_is_a_power_of_two():
    with pytest.raises(ConfigError, match="try 64 or 128"):
        PrototypeConfig(n_free_vectors=100)
