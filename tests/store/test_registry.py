from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from multitudes.errors import StoreError
from multitudes.models import lookup
from multitudes.store import State, build, register, save, state_of
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


def test_an_unknown_kind_says_install_or_register():
    advice = (
        r"\(install the package that declares it; a class of your own: call store.register first"
    )
    with pytest.raises(StoreError, match=advice):
        class_of("nobody's kind")


def of_kind(kind: str) -> type[Box]:
    """A class that writes this kind."""

    class Own(Box):
        def to_state(self) -> State:
            return dataclasses.replace(super().to_state(), kind=kind)

    return Own


def test_a_class_that_could_not_be_loaded_is_not_saved(tmp_path):
    undeclared = "Own writes the kind 'forgotten', which no ModelSpec.stored declares: add it"
    with pytest.raises(StoreError, match=undeclared):
        save(of_kind("forgotten")(), tmp_path / "model")
    for kind, owner in (("test-box", "store.box:Box"), ("tfidf", "TfidfFeatures")):
        with pytest.raises(StoreError, match=f"Own writes the kind '{kind}', .*{owner}"):
            save(of_kind(kind)(), tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(StoreError, match="to_state must return a State, got 3"):
        state_of(type("Odd", (), {"to_state": lambda self: 3})())


def test_a_class_that_was_registered_is_saved(tmp_path):
    own = of_kind("test-registered")
    register("test-registered", own)
    save(own(), tmp_path / "model")
    assert state_of(own()).kind == "test-registered"


def test_a_list_is_not_an_array(tmp_path):
    with pytest.raises(StoreError, match="array 'x' of test-box must be a numpy array, got list"):
        save(Box(arrays={"x": [1, 2]}), tmp_path / "model")
