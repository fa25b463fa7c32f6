"""Stand-ins never stand in the way: a package that needs the real module has it."""

from __future__ import annotations

import sys

import pytest

from multitudes.placeholders import import_without


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A package `wanting`, whose content is asked for, that imports `wanted_one`."""
    (tmp_path / "wanted_one.py").write_text("__version__ = '3'\nclass Thing: pass\n")
    (tmp_path / "wanting").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda code: (tmp_path / "wanting" / "__init__.py").write_text(code)
    for name in ("wanting", "wanted_one"):
        sys.modules.pop(name, None)


def test_what_is_not_used_is_not_imported(packages):
    packages("import wanted_one\n")
    import_without(("wanting",), ("wanted_one",))
    assert "wanting" in sys.modules
    assert "wanted_one" not in sys.modules


@pytest.mark.parametrize(
    "code",
    [
        "from wanted_one import __version__\n",
        "from wanted_one import Thing\nclass Mine(Thing): pass\n",
    ],
)
def test_what_is_used_after_all_is_the_real_one(packages, code):
    packages(code)
    import_without(("wanting",), ("wanted_one",))
    import wanting

    real = sys.modules["wanted_one"]
    assert getattr(wanting, "__version__", real.__version__) == "3"
    assert issubclass(getattr(wanting, "Mine", real.Thing), real.Thing)


def test_a_package_that_cannot_be_imported_says_so_itself(packages):
    packages("import wanted_one\nraise RuntimeError('no')\n")
    import_without(("wanting",), ("wanted_one",))
    with pytest.raises(RuntimeError, match="no"):
        import wanting  # noqa: F401
