from __future__ import annotations

import io

import numpy as np
import pytest

from multitudes.data import read_prediction_file
from multitudes.data.predictions.writing import (
    FORMATS,
    TaggedInstance,
    prediction_format,
    prediction_writer,
)
from multitudes.errors import ConfigError, DataError, MissingExtraError

ROWS = [
    TaggedInstance("q1", ['a, "b"', "line\nbreak"], np.array([0.3, 0.1], np.float32)),
    TaggedInstance("q2", [], np.array([], np.float32)),
    TaggedInstance("q3", ["ü;\t"], np.array([1e-7], np.float32)),
]


def written(path, format, rows=ROWS, *, has_uids=True, has_titles=False):
    with (
        path.open("wb") as out,
        prediction_writer(out, format, has_uids=has_uids, has_titles=has_titles) as writer,
    ):
        for row in rows:
            writer.write(row)
    return path


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("has_uids", [True, False])
def test_what_is_written_comes_back(tmp_path, format, has_uids):
    rows = ROWS if has_uids else [row._replace(instance=i) for i, row in enumerate(ROWS)]
    file = read_prediction_file(written(tmp_path / f"p.{format}", format, rows, has_uids=has_uids))
    assert file.uids == (["q1", "q2", "q3"] if has_uids else None)
    assert file.counts.tolist() == [2, 0, 1]
    assert [file.names[label] for label in file.labels] == ['a, "b"', "line\nbreak", "ü;\t"]
    assert file.scores.tolist() == np.array([0.3, 0.1, 1e-7], np.float32).tolist()
    assert file.ordered


@pytest.mark.parametrize("format", FORMATS)
def test_no_instances(tmp_path, format):
    path = written(tmp_path / f"p.{format}", format, [])
    if format == "jsonl":
        return  # an empty file, of no format
    assert len(read_prediction_file(path)) == 0


@pytest.mark.parametrize("format", FORMATS)
def test_titles_stand_beside_names(tmp_path, format):
    titled = [ROWS[0]._replace(titles=["A", "B"]), ROWS[1]._replace(titles=[])]
    path = written(tmp_path / f"p.{format}", format, titled, has_titles=True)
    assert [path_names(path)[i] for i in (0, 1)] == ['a, "b"', "line\nbreak"]
    if format in ("csv", "tsv"):
        sep = "," if format == "csv" else "\t"
        assert path.read_text().startswith(sep.join(["uid", "rank", "label", "title", "score"]))
    if format == "jsonl":
        assert '"label":"line\\nbreak","title":"B","score":0.1' in path.read_text()


def path_names(path):
    return read_prediction_file(path).names


def test_a_parquet_file_in_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("multitudes.data.predictions.writing.ROWS_PER_GROUP", 2)
    file = read_prediction_file(written(tmp_path / "p.parquet", "parquet", ROWS * 1))
    assert file.counts.tolist() == [2, 0, 1]


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with (
        pytest.raises(MissingExtraError, match="parquet"),
        prediction_writer(io.BytesIO(), "parquet", has_uids=True),
    ):
        pass


def test_data_with_such_columns_and_more_is_a_table(tmp_path):
    (tmp_path / "p.csv").write_text("note,score,label,rank,uid\nx,0.5,a,2,q\ny,0.7,b,1,q\n")
    file = read_prediction_file(tmp_path / "p.csv")
    assert [file.names[label] for label in file.labels] == ["b", "a"]


def test_empty_scores_go_by_rank(tmp_path):
    (tmp_path / "p.csv").write_text("uid,rank,label,score\nq,2,a,\nq,1,b,\n")
    file = read_prediction_file(tmp_path / "p.csv")
    assert [file.names[label] for label in file.labels] == ["b", "a"]
    assert file.scores[0] > file.scores[1]


def test_a_damaged_parquet_file(tmp_path):
    path = written(tmp_path / "p.parquet", "parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged"):
        read_prediction_file(path)


def test_formats_by_suffix():
    assert prediction_format("p") == "jsonl"
    assert prediction_format("p.TSV.gz") == "tsv"
    assert prediction_format("p.txt", "csv") == "csv"
    with pytest.raises(ConfigError, match="cannot tell"):
        prediction_format("p.docx")
