from __future__ import annotations

import subprocess
import sys

import pytest

from multitudes.errors import StoreError
from multitudes.models import lookup
from multitudes.store import State, build, register
from multitudes.store.registry import _HOMES, class_of, kinds

from .box import Box


def test_unknown_kind_names_the_nearest():
    with pytest.raises(StoreError, match="'xr-liner'.*did you mean 'xr-linear'"):
        class_of("xr-liner")


@pytest.mark.parametrize("kind", ["os:system", "subprocess:Popen", "multitudes.tagger:Tagger"])
def test_a_kind_is_never_taken_for_a_module(kind):
    with pytest.raises(StoreError, match="does not know"):
        build(State(kind))


@pytest.mark.parametrize("kind", sorted({**_HOMES, **lookup.stored_classes()}))
def test_every_kind_has_a_class_that_can_be_built(kind):
    cls = class_of(kind)
    assert isinstance(cls, type)
    assert callable(cls.from_state)
    assert callable(cls.to_state)


def test_importing_the_store_imports_no_model():
    assert "tagger" in kinds()
    code = "import sys, multitudes.store; print('multitudes.tagger' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_registering_again_is_harmless_and_stealing_a_name_is_not():
    register("test-box", Box)
    assert class_of("test-box") is Box

    class Other(Box):
        pass

    with pytest.raises(StoreError, match="'test-box' is taken"):
        register("test-box", Other)
    with pytest.raises(StoreError, match="'tagger' is taken"):
        register("tagger", Box)
