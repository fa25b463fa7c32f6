"""The page on formats: its files can be read, its Python runs, and it names every setting."""

from __future__ import annotations

import dataclasses
import gzip
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import scipy.sparse as sp

from multitudes.data import (
    Dataset,
    LabelSpace,
    ReadOptions,
    WriteOptions,
    read_dataset,
    write_dataset,
)
from multitudes.data.formats import BUILT_IN, formats_of_packages
from multitudes.errors import DataError

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
    [
        ("train.jsonl", 3, 3),
        ("test.csv", 3, 3),
        ("grouped.jsonl", 2, 0),
        ("products", 2, 3),
        ("news.ft", 2, 3),
        ("titles.tsv", 2, 3),
        ("pair", 2, 3),
        ("pair/trn_X_Y.txt", 2, 3),
    ],
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


@pytest.fixture
def package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of the page, installed in the folder of the page's files."""
    groups = tomllib.loads(FILES["pyproject.toml"])["project"]["entry-points"]
    lines = [
        f"[{group}]\n{name} = {value}" for group, e in groups.items() for name, value in e.items()
    ]
    info = folder / "multitudes_hashtags-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hashtags\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(folder))
    formats_of_packages.cache_clear()
    yield folder
    formats_of_packages.cache_clear()
    sys.modules.pop("multitudes_hashtags", None)


def test_the_package_of_the_page_adds_its_format(package: Path) -> None:
    (package / "new.tags.gz").write_bytes(gzip.compress(b"a leather belt, brown #belts #leather\n"))
    for source, target in (("new.tags.gz", "new.jsonl"), ("new.jsonl", "again.tags.xz")):
        subprocess.run(
            [sys.executable, "-m", "multitudes", "convert", source, target],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
        )
    for name in ("new.jsonl", "again.tags.xz"):
        dataset = read_dataset(name)
        assert dataset.texts == ("a leather belt, brown",)
        assert dataset.labels_of(0) == ["belts", "leather"]


def test_the_package_of_the_page_follows_all_settings(package: Path) -> None:
    (package / "d.tags").write_bytes(b"\xef\xbb\xbfa #1\nb #\xff\nc #0 #1\nd" + b" d" * 99)
    options = ReadOptions(on_error="skip", label_kind="ids", n_labels=3, max_line_bytes=99)
    dataset = read_dataset("d.tags", options=options)
    assert dataset.texts == ("a", "c")
    assert dataset.Y.toarray().tolist() == [[0, 1, 0], [1, 1, 0]]
    assert dataset.report is not None
    assert [message.split(": ")[0] for message in dataset.report.skipped_examples] == [
        "d.tags:2",
        "d.tags:4",
    ]
    over = read_dataset("d.tags", labels=LabelSpace(["1"]), options=ReadOptions(on_error="skip"))
    assert over.label_names == ("1",)
    assert over.report is not None
    assert over.report.unknown_label_examples == ("0",)
    with pytest.raises(DataError, match="d.tags:2: invalid UTF-8"):
        read_dataset("d.tags")
    (package / "d.tags").write_bytes("a #b\n".encode("utf-16"))
    with pytest.raises(DataError, match="the file is UTF-16"):
        read_dataset("d.tags")


@pytest.mark.parametrize("text", ["two\nlines", "a #tag", " spaces "])
def test_the_package_of_the_page_refuses_what_it_cannot_hold(package: Path, text: str) -> None:
    dataset = Dataset(Y=sp.csr_array((1, 1)), texts=[text])
    with pytest.raises(DataError, match=r"out.tags: cannot hold"):
        write_dataset(dataset, "out.tags")
