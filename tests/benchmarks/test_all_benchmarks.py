"""Every benchmark can at least be started: what it takes from the library is still there."""

import importlib
import pkgutil

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import benchmarks

PEERS = "benchmarks.trees.contestants."  # they run in environments of their own


@pytest.mark.parametrize(
    "name",
    [
        module.name
        for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")
        if not module.name.startswith(PEERS)
    ],
)
def test_a_benchmark_is_imported(name):
    importlib.import_module(name)
