"""What `import multitudes` promises."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

import multitudes
from multitudes.errors import MissingExtraError, require


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_import_brings_no_heavy_module():
    loaded = run_python("import sys, multitudes; print(' '.join(sys.modules))").split()
    heavy = {"torch", "transformers", "numba", "sklearn", "scipy", "pyarrow", "typer", "rich"}
    assert heavy.isdisjoint(loaded)


NEED_TORCH = ("Prime", "OTSeq2Set")


UNUSED = (
    "pandas", "joblib", "narwhals", "numpy.f2py", "numpy.testing", "scipy.linalg", "scipy.special",
    "scipy.sparse.linalg", "scipy.stats",
)  # fmt: skip


def test_estimators_load_without_what_they_never_use():
    code = f"""
import sys
from multitudes import Tagger, XRLinear, evaluate
print([name for name in {UNUSED} if name in sys.modules])
Tagger("xr-linear", n_jobs=1).fit(["a b", "b c", "c a"] * 4, [["x"], ["y"], ["x"]] * 4)
print([name for name in {UNUSED} if name in sys.modules])
"""
    assert run_python(code).split() == ["[]", "[]"]


def test_what_was_left_out_is_found_later():
    code = """
import sys
from multitudes import Tagger, XRLinear
import pandas, scipy.stats, scipy.sparse.linalg, joblib, numpy, sklearn.utils.fixes
from sklearn.utils.parallel import Parallel
print(sys.modules["pandas"].DataFrame is sklearn.utils.fixes.pd.DataFrame)
print(type(scipy.stats).__name__, scipy.stats.norm.cdf(0.0))
print(issubclass(Parallel, joblib.Parallel), numpy.testing.assert_equal(1, 1))
solved, _ = sklearn.utils.fixes._sparse_linalg_cg(scipy.sparse.eye_array(2), numpy.ones(2))
print(solved, round(scipy.linalg.norm(solved) ** 2, 6))
"""
    found = run_python(code).split("\n")
    assert found == ["True", "module 0.5", "True None", "[1. 1.] 2.0"]


def test_public_names_load_without_torch():
    code = f"""
import sys, multitudes
for name in set(multitudes.__all__) - set({NEED_TORCH}):
    getattr(multitudes, name)
print("torch" in sys.modules)
"""
    assert run_python(code) == "False"


@pytest.mark.parametrize("name", NEED_TORCH)
def test_names_that_need_torch_load(name):
    assert getattr(multitudes, name).__name__ == name


def test_public_names_compile_nothing():
    code = """
from numba.core import event
import multitudes
with event.install_recorder("numba:compile") as recorder:
    for name in multitudes.__all__:
        getattr(multitudes, name)
print(len(recorder.buffer))
"""
    assert run_python(code) == "0"


def test_import_time():
    """The promise is half a second; the bound here leaves room for a busy machine."""
    code = "import time; t = time.perf_counter(); import multitudes; print(time.perf_counter() - t)"
    assert min(float(run_python(code)) for _ in range(3)) < 0.5


def test_version_is_the_distribution_version():
    assert metadata.version("multitudes") == multitudes.__version__


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Taggr'"):
        multitudes.Taggr  # noqa: B018


def test_missing_extra_names_the_pip_line():
    with pytest.raises(MissingExtraError, match=r"pip install 'multitudes\[deep\]'"):
        require("a_package_that_is_not_there", extra="deep")
