"""Formats from other packages: found through real entry points of a package on the path."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import scipy.sparse as sp

from multitudes.data import (
    Dataset,
    Format,
    LabelSpace,
    ReadOptions,
    WriteOptions,
    list_formats,
    read_dataset,
    write_dataset,
)
from multitudes.data.formats import BUILT_IN, formats_of_packages
from multitudes.data.writing import left_behind
from multitudes.errors import ConfigError, DataError

# A text per line, its labels as hashtags: "a leather belt, brown #belts #leather".
HASHTAGS = """
import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset, Format, relabel


def read(path, options, *, labels):
    lines = [line.split("#") for line in path.read_text().splitlines()]
    rows = [[name.strip() for name in names] for _, *names in lines]
    known = list(dict.fromkeys(name for row in rows for name in row))
    Y = np.array([[name in row for name in known] for row in rows], np.float32)
    Y = sp.csr_array(Y.reshape(len(rows), len(known)))
    dataset = Dataset(Y=Y, texts=[text.strip() for text, *_ in lines], label_names=known)
    if labels is None:
        return dataset
    return relabel(dataset, labels, unknown_labels=options.unknown_labels)


def write(dataset, path, options):
    with path.open("w") as file:
        for row, text in enumerate(dataset.texts):
            print(text, *(f"#{name}" for name in dataset.labels_of(row)), file=file)


def sniff(head):
    return b" #" in head.split(b"\\n")[0]


HASHTAGS = Format(
    name="hashtags",
    summary="a text per line, its labels as hashtags",
    suffixes=(".tags",),
    holds="texts",
    sniff=sniff,
    read=read,
    write=write,
)
"""
LINES = "a leather belt, brown #belts #leather goods\na straw hat #hats\n"

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package of one module, as pip would leave it, in a folder on the path."""
    site = tmp_path / "site"
    site.mkdir()
    modules = set(sys.modules)

    def make(entry_point: str, source: str = HASHTAGS, *, name: str = "hashtags_plugin") -> Path:
        (site / f"{name}.py").write_text(source)
        info = site / f"{name}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[multitudes.formats]\n{entry_point}\n")
        monkeypatch.syspath_prepend(str(site))
        return site

    formats_of_packages.cache_clear()
    yield make
    formats_of_packages.cache_clear()
    for module in set(sys.modules) - modules:
        if module.endswith("_plugin"):
            del sys.modules[module]


@pytest.fixture
def hashtags(install: Install) -> Path:
    """A folder on the path with a package that has a sound format."""
    return install("hashtags = hashtags_plugin:HASHTAGS")


def check(dataset: Dataset) -> None:
    assert dataset.texts == ("a leather belt, brown", "a straw hat")
    assert [sorted(dataset.labels_of(row)) for row in (0, 1)] == [
        ["belts", "leather goods"],
        ["hats"],
    ]


def test_it_is_listed_after_the_built_in_ones(hashtags: Path) -> None:
    assert [format.name for format in list_formats()] == [*(f.name for f in BUILT_IN), "hashtags"]


@pytest.mark.parametrize("name", ["data.tags", "data.dat", "data"])
def test_a_file_is_recognized_by_suffix_or_content(
    hashtags: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(LINES)  # which has a comma, as a table would
    check(read_dataset(tmp_path / name))


@pytest.mark.parametrize("format", ["hashtags", "tags"])
def test_it_can_be_named(hashtags: Path, tmp_path: Path, format: str) -> None:
    (tmp_path / "data.csv").write_text(LINES)
    check(read_dataset(tmp_path / "data.csv", format=format))


def test_a_folder_has_splits_of_it(hashtags: Path, tmp_path: Path) -> None:
    (tmp_path / "trn.tags").write_text("another\n")
    (tmp_path / "tst.tags").write_text(LINES)
    check(read_dataset(tmp_path, options=ReadOptions(split="tst")))


def test_its_suffix_wins_over_a_guess(hashtags: Path, tmp_path: Path) -> None:
    (tmp_path / "data.tags").write_text("no labels at all\n")
    assert read_dataset(tmp_path / "data.tags").texts == ("no labels at all",)


def test_certain_content_of_another_format_wins_over_its_suffix(
    hashtags: Path, tmp_path: Path
) -> None:
    (tmp_path / "data.tags").write_text('{"text": "a", "labels": []}\n')
    assert read_dataset(tmp_path / "data.tags").texts == ("a",)


def test_it_writes_and_reads_over_given_labels(hashtags: Path, tmp_path: Path) -> None:
    (tmp_path / "data.tags").write_text(LINES)
    train = read_dataset(tmp_path / "data.tags")
    write_dataset(train[1:], tmp_path / "again.tags")
    again = read_dataset(tmp_path / "again.tags", labels=train)
    assert again.label_names == train.label_names
    assert again.labels_of(0) == ["hats"]
    features = Dataset(Y=sp.csr_array((1, 1)), X=sp.csr_array((1, 1)))
    with pytest.raises(DataError, match="cannot write features as hashtags, which holds texts"):
        write_dataset(features, tmp_path / "again.tags")


def test_it_is_not_loaded_for_what_multitudes_reads_itself(hashtags: Path, tmp_path: Path) -> None:
    for name, content in {"d.jsonl": '{"text": "a"}\n', "d.csv": "text\na\n", "d": "1:2\n"}.items():
        (tmp_path / name).write_text(content)
        read_dataset(tmp_path / name)
        read_dataset(tmp_path / name, format="csv")
    assert "hashtags_plugin" not in sys.modules


def test_the_command_line_reads_writes_and_lists_it(hashtags: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "multitudes", *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(hashtags), *sys.path])},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "data.tags").write_text(LINES)
    run("convert", "data.tags", "data.jsonl")
    run("convert", "data.jsonl", "other", "--to", "hashtags")
    run("convert", "other", "last.jsonl", "--format", "hashtags")
    check(read_dataset(tmp_path / "last.jsonl"))
    assert "a text per line, its labels as hashtags" in run("convert", "--list-settings")


BROKEN = {
    "import": ("x = broken_plugin:X", "import nowhere", "ModuleNotFoundError: No module named"),
    "attribute": ("x = broken_plugin:X", "", "AttributeError: .*'X'"),
    "crash": ("x = broken_plugin:X", "1 / 0", "ZeroDivisionError"),
    "settings": (
        "x = broken_plugin:X",
        "from multitudes.data import Format\nX = Format(name='x', summary='', holds='?', read=len)",
        "holds must be 'texts' or 'features', got '\\?'",
    ),
    "type": ("x = broken_plugin:X", "X = 7", "must be a multitudes.data.Format named 'x', got int"),
    "name": (
        "x = broken_plugin:HASHTAGS",
        HASHTAGS,
        "must be a multitudes.data.Format named 'x', got one named 'hashtags'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_one_is_named_with_its_package(
    install: Install, tmp_path: Path, case: str
) -> None:
    entry_point, source, message = BROKEN[case]
    install(entry_point, source, name="broken_plugin")
    (tmp_path / "data.x").write_text("text,labels\na,b\n")
    place = f"the format 'x' of the package broken_plugin 1.5 .*{message}"
    with pytest.warns(RuntimeWarning, match=place):
        assert list_formats() == BUILT_IN
    with pytest.raises(ConfigError, match=place):
        read_dataset(tmp_path / "data.x", format="x")


def test_a_broken_one_does_not_stop_others(install: Install, tmp_path: Path) -> None:
    install("x = broken_plugin:X", "", name="broken_plugin")
    install("hashtags = hashtags_plugin:HASHTAGS")
    (tmp_path / "data.tags").write_text(LINES)
    with pytest.warns(RuntimeWarning, match="package broken_plugin"):
        check(read_dataset(tmp_path / "data.tags"))


def test_a_name_of_multitudes_cannot_be_taken(install: Install, tmp_path: Path) -> None:
    install("csv = hashtags_plugin:HASHTAGS", HASHTAGS.replace('"hashtags"', '"csv"'))
    words = "package hashtags_plugin 1.5 declares the format 'csv', but multitudes itself has"
    with pytest.warns(RuntimeWarning, match=words):
        assert list_formats() == BUILT_IN
    (tmp_path / "data.csv").write_text("text,labels\na,b\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_dataset(tmp_path / "data.csv", format="csv").label_names == ("b",)


def test_of_two_packages_the_first_has_the_name(install: Install) -> None:
    install("hashtags = hashtags_plugin:HASHTAGS")
    install("hashtags = other_plugin:HASHTAGS", name="other_plugin")
    words = "other_plugin 1.5 declares .* but the package hashtags_plugin 1.5 has"
    with pytest.warns(RuntimeWarning, match=words):
        assert len(list_formats()) == len(BUILT_IN) + 1


def test_a_suffix_of_multitudes_stays_with_it(install: Install, tmp_path: Path) -> None:
    install("hashtags = hashtags_plugin:HASHTAGS", HASHTAGS.replace('".tags"', '".csv"'))
    (tmp_path / "data.csv").write_text("text,labels\na #x,b\n")
    assert read_dataset(tmp_path / "data.csv").label_names == ("b",)


def test_a_format_may_be_only_for_reading(install: Install, tmp_path: Path) -> None:
    install("hashtags = hashtags_plugin:HASHTAGS", HASHTAGS.replace("    write=write,\n", ""))
    dataset = Dataset(Y=sp.csr_array((1, 1)), texts=["a"])
    with pytest.raises(DataError, match="the format 'hashtags' can only be read"):
        write_dataset(dataset, tmp_path / "data.tags")


@pytest.mark.parametrize("name", ["data.dat", "data", "data.txt"])
def test_a_sniff_that_fails_stops_no_other_format(
    install: Install, tmp_path: Path, name: str
) -> None:
    source = HASHTAGS.replace('b" #" in', '" #" in')  # a str in bytes: TypeError
    install("hashtags = hashtags_plugin:HASHTAGS", source)
    (tmp_path / name).write_text("text,labels\na,b\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_dataset(tmp_path / name).label_names == ("b",)
    words = "format 'hashtags' of the package hashtags_plugin 1.5 is passed over: .*TypeError"
    if name != "data.txt":  # a suffix of multitudes, for which no package is asked
        assert any(re.search(words, str(warning.message)) for warning in caught)
    (tmp_path / "data.tags").write_text(LINES)
    with pytest.warns(RuntimeWarning, match=words):
        check(read_dataset(tmp_path / "data.tags"))


def test_a_folder_is_read_though_a_sniff_fails(install: Install, tmp_path: Path) -> None:
    source = HASHTAGS.replace("sniff=sniff,", "sniff_path=lambda path: True,")
    install("hashtags = hashtags_plugin:HASHTAGS", source)
    (tmp_path / "trn.tags").write_text(LINES)
    with pytest.warns(RuntimeWarning, match="package hashtags_plugin 1.5 is passed over"):
        check(read_dataset(tmp_path))


def test_a_reader_must_return_a_dataset(install: Install, tmp_path: Path) -> None:
    source = HASHTAGS.replace("        return dataset\n", "        return\n")
    install("hashtags = hashtags_plugin:HASHTAGS", source)
    (tmp_path / "data.tags").write_text(LINES)
    words = "data.tags: the format 'hashtags' of the package hashtags_plugin 1.5 .* got NoneType"
    with pytest.raises(ConfigError, match=words):
        read_dataset(tmp_path / "data.tags")


def test_foreign_errors_name_the_package_and_the_file(hashtags: Path, tmp_path: Path) -> None:
    (tmp_path / "data.tags").write_bytes(b"\xff\n")
    words = "data.tags: the format 'hashtags' of the package hashtags_plugin 1.5 failed"
    with pytest.raises(DataError, match=f"{words} .UnicodeDecodeError"):
        read_dataset(tmp_path / "data.tags")
    (tmp_path / "folder.tags").mkdir()
    with pytest.raises(DataError, match="folder.tags: .* hashtags_plugin 1.5 failed .IsADirectory"):
        write_dataset(
            Dataset(Y=sp.csr_array((1, 1)), texts=["a"]),
            tmp_path / "folder.tags",
            format="hashtags",
        )


def test_errors_of_multitudes_pass_unchanged(hashtags: Path, tmp_path: Path) -> None:
    (tmp_path / "data.tags").write_text(LINES)
    raising = ReadOptions(unknown_labels="raise")
    with pytest.raises(DataError) as error:
        read_dataset(tmp_path / "data.tags", labels=LabelSpace(["hats"]), options=raising)
    assert "hashtags_plugin" not in str(error.value)


def test_groups_of_a_format_without_them_have_their_own_files(
    hashtags: Path, tmp_path: Path
) -> None:
    (tmp_path / "data.tags").write_text(LINES)
    (tmp_path / "in.jsonl").write_text('{"group": "g"}\n{"group": ["h", "g"]}\n')
    (tmp_path / "labels.jsonl").write_text('{"group": "g", "labels": ["hats"]}\n')
    members = str(tmp_path / "in.jsonl")
    grouped = read_dataset(tmp_path / "data.tags", options=ReadOptions(instance_groups=members))
    check(grouped)
    assert [grouped.group_names_of(row) for row in (0, 1)] == [["g"], ["g", "h"]]

    target, copy = tmp_path / "out.tags", str(tmp_path / "copy.jsonl")
    sentences = left_behind(grouped, target, options=WriteOptions())
    assert sentences == [
        f"{target}: the groups of instances are not written: name a file with instance_groups"
    ]
    assert left_behind(grouped, target, format="json-lines", options=WriteOptions()) == []
    writing = WriteOptions(instance_groups=copy)
    assert left_behind(grouped, target, options=writing) == []
    write_dataset(grouped, target, options=writing)
    again = read_dataset(target, options=ReadOptions(instance_groups=copy))
    assert again.group_names == ("g", "h")
    with pytest.raises(DataError, match="nothing says which instances are in a group"):
        read_dataset(target, options=ReadOptions(group_labels=str(tmp_path / "labels.jsonl")))


def test_a_format_that_holds_groups_loses_none(install: Install, tmp_path: Path) -> None:
    source = HASHTAGS.replace('holds="texts",', 'holds="texts", holds_groups=True,')
    install("hashtags = hashtags_plugin:HASHTAGS", source)
    (tmp_path / "data.jsonl").write_text('{"text": "a", "labels": [], "group": "g"}\n')
    grouped = read_dataset(tmp_path / "data.jsonl")
    assert left_behind(grouped, tmp_path / "out.tags", options=WriteOptions()) == []
    with pytest.raises(ConfigError, match="got 'f' for hashtags, in which an instance names its"):
        write_dataset(grouped, tmp_path / "out.tags", options=WriteOptions(instance_groups="f"))


def test_settings_of_a_format_are_checked() -> None:
    with pytest.raises(ConfigError, match="suffixes must start with a dot .* got 'Tags'"):
        Format(name="x", summary="", holds="texts", read=BUILT_IN[0].read, suffixes=("Tags",))
