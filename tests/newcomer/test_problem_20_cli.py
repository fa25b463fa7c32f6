"""Problem 20, the command line: -o p.csv wrote JSON, no --version, <bool>, misleading counts."""

from __future__ import annotations

import csv
import gzip

import pytest

from multitudes.version import __version__
from tests.cli.conftest import write_lines

SUFFIXES = ["jsonl", "csv", "tsv", "parquet", "csv.gz", "tsv.xz", "jsonl.bz2", "parquet.zst"]


@pytest.fixture(scope="module")
def odd_data(tmp_path_factory):
    """Data without uids, one instance of which gets no label above a threshold."""
    lines = [{"text": "juicy apple", "labels": ["fruit"]}, {"text": "xyzzy", "labels": ["fish"]}]
    return write_lines(tmp_path_factory.mktemp("odd") / "odd.jsonl", lines)


def test_the_suffix_says_how_predictions_are_written(cli, model, test_file, tmp_path):
    reports = []
    for suffix in SUFFIXES:
        path = tmp_path / f"p.{suffix}"
        assert cli("predict", model, test_file, "-o", path, "-q").code == 0
        reports.append(cli("evaluate", path, test_file, "--json").json)
    assert reports[1:] == reports[:-1]
    packed = (tmp_path / "p.csv.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "p.csv").read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_and_instances_without_labels_come_back(cli, model, odd_data, tmp_path, suffix):
    path = tmp_path / f"p.{suffix}"
    assert cli("predict", model, odd_data, "-o", path, "-q", "--threshold", 0.5).code == 0
    report = cli("evaluate", path, odd_data, "--json").json
    assert report["n_instances"] == 2
    assert report["values"]["P@1"] == 0.5


def test_a_table_has_a_row_per_label(cli, model, test_file, tmp_path):
    assert cli("predict", model, test_file, "-o", tmp_path / "p.csv", "-k", 2).code == 0
    with (tmp_path / "p.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["uid", "rank", "label", "score"]
    assert [row["rank"] for row in rows] == ["1", "2"] * 30
    tsv = cli("predict", model, test_file, "--output-format", "tsv", "-k", 1).out.splitlines()
    assert tsv[0].split("\t") == ["uid", "rank", "label", "score"]
    assert len(tsv) == 31


def test_a_table_sorted_by_a_spreadsheet_means_the_same(cli, model, test_file, tmp_path):
    path = tmp_path / "p.csv"
    assert cli("predict", model, test_file, "-o", path, "-q").code == 0
    before = cli("evaluate", path, test_file, "--json").json
    header, *rows = path.read_text().splitlines()
    text = "\n".join([header, *sorted(rows, key=lambda row: row.split(",")[2])])
    path.write_text("\ufeff" + text.replace(",", ";") + "\n")
    assert cli("evaluate", path, test_file, "--json").json == before


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "uid,rank,label,score\nu1,first,fish,0.5\n",
            "rank must be a finite number, got 'first'",
        ),
        ("row,rank,label,score\n1,1,fish,0.5\n", "none with row 0"),
        ("row,rank,label,score\nx,1,fish,0.5\n", "row must be a whole number, got 'x'"),
        ("uid,rank,label,score\nu1,1,fish,nan\n", "score must be a finite number"),
        ("uid,rank,label,score\nu1,1\n", "row 2"),
    ],
)
def test_a_broken_table_is_said_to_be_so(cli, test_file, tmp_path, rows, message):
    (tmp_path / "p.csv").write_text(rows)
    result = cli("evaluate", tmp_path / "p.csv", test_file)
    assert result.code == 3
    assert message in result.err


@pytest.mark.parametrize("name", ["p.txt", "p.xlsx", "p.v2.gz"])
def test_an_unknown_suffix_is_an_error_that_lists_them(cli, name):
    result = cli("predict", "no-model", "data.jsonl", "-o", name)
    assert result.code == 2
    for words in (".jsonl", ".csv", ".tsv", ".parquet", ".gz", "--output-format"):
        assert words in result.err
    result = cli("predict", "no-model", "data.jsonl", "--output-format", "xml")
    assert "one of jsonl, csv, tsv, parquet, got 'xml'" in result.err


def test_version(cli):
    result = cli("--version")
    assert (result.code, result.out) == (0, f"multitudes {__version__}\n")


@pytest.mark.parametrize("verb", ["train", "predict", "evaluate", "inspect", "update", None])
def test_help_shows_flags_without_a_type(cli, verb):
    shown = cli(*([verb] if verb else []), "--help").out
    for word in ("<bool>", "<str>", "<int", "list["):
        assert word not in shown
    assert "--help" in shown


def test_counts_are_named_for_what_they_are(cli, model, test_file, tmp_path):
    result = cli("predict", model, test_file, "-o", tmp_path / "p.jsonl", "-k", 3)
    assert "30 instances, 3.0 labels each (90 in all), written to" in result.err
