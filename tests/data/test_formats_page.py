"""The page on formats: its files can be read, its Python runs, and it names every setting."""

from __future__ import annotations

import dataclasses
import gzip
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from multitudes.data import ReadOptions, WriteOptions, read_dataset
from multitudes.data.formats import BUILT_IN

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
FILES = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', PAGE, flags=re.DOTALL))
CODE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's files, to work in."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_of_the_page_runs_in_order(folder: Path) -> None:
    for code in CODE:
        exec(code, {})
    assert (folder / "train.parquet").exists()


@pytest.mark.parametrize(
    ("name", "n_instances", "n_labels"),
    [("train.jsonl", 3, 3), ("test.csv", 3, 3), ("grouped.jsonl", 2, 0), ("products", 2, 3)],
)
def test_the_files_of_the_page_are_read(
    folder: Path, name: str, n_instances: int, n_labels: int
) -> None:
    dataset = read_dataset(folder / name)
    assert (len(dataset), dataset.n_labels) == (n_instances, n_labels)


def test_the_sparse_file_of_the_page_is_read(folder: Path) -> None:
    dataset = read_dataset(folder / "data.txt")
    assert (len(dataset), dataset.n_features, dataset.n_labels) == (2, 5, 3)


def test_shared_titles_are_told_apart_as_the_page_says(folder: Path) -> None:
    assert read_dataset(folder / "products").label_names == (
        "belts [c10]",
        "belts [c11]",
        "leather goods",
    )


def test_every_format_and_setting_is_on_the_page() -> None:
    settings = [f.name for kind in (ReadOptions, WriteOptions) for f in dataclasses.fields(kind)]
    formats = [format.name for format in BUILT_IN]
    missing = [name for name in (*formats, *settings) if f"`{name}`" not in PAGE]
    assert missing == []


def test_the_package_of_the_page_adds_its_format(folder: Path) -> None:
    groups = tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"]
    lines = [
        f"[{group}]\n{name} = {value}" for group, e in groups.items() for name, value in e.items()
    ]
    info = folder / "multitudes_hashtags-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hashtags\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    (folder / "new.tags.gz").write_bytes(gzip.compress(b"a leather belt, brown #belts #leather\n"))
    subprocess.run(
        [sys.executable, "-m", "multitudes", "convert", "new.tags.gz", "new.jsonl"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        check=True,
    )
    dataset = read_dataset("new.jsonl")
    assert dataset.texts == ("a leather belt, brown",)
    assert dataset.labels_of(0) == ["belts", "leather"]
