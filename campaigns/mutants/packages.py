"""Which packages are mutated, and which tests are about each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ("tests/contract/test_models.py", "tests/contract/test_feature_models.py")


@dataclass(frozen=True)
class Package:
    """Folders of the library, and the tests that must notice a change in them."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    words: tuple[str, ...] = ()
    """Of the contract that all models keep: the tests that have one of these in their name."""

    root: Path = ROOT
    """Of the checkout, to which names of tests are relative."""

    def test_files(self) -> list[str]:
        """What pytest collects."""
        return [*self.tests, *(CONTRACT if self.words else ())]

    def asks(self, test: str) -> bool:
        """Whether a test is about this package."""
        return not test.startswith(CONTRACT) or any(f"[{word}" in test for word in self.words)

    def files(self) -> list[str]:
        """Paths of the modules, from the root of the checkout."""
        found = (path for folder in self.sources for path in (ROOT / folder).rglob("*.py"))
        return sorted(str(path.relative_to(ROOT)) for path in found)


PACKAGES = {
    package.name: package
    for package in (
        Package("metrics", ("multitudes/metrics",), ("tests/metrics",)),
        Package(
            "losses",
            ("multitudes/encoder/losses", "multitudes/seq2set/losses"),
            ("tests/encoder/losses", "tests/seq2set/losses"),
        ),
        Package("groups", ("multitudes/groups",), ("tests/groups",), ("Eagle", "DeepMIML")),
        Package(
            "disentangle",
            ("multitudes/disentangle",),
            ("tests/disentangle", "tests/property/test_disentangle_theorems.py"),
            ("Disentangled",),
        ),
        Package("fusion", ("multitudes/fusion",), ("tests/fusion", "tests/scores"), ("Ensemble",)),
    )
}
