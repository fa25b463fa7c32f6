from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import read_prediction_file
from multitudes.data.predictions.writing import TaggedInstance, prediction_writer
from multitudes.errors import DataError


def lines_file(tmp_path, *records: object):
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_what_is_written_comes_back(tmp_path):
    out = io.BytesIO()
    with prediction_writer(out, has_uids=True) as writer:
        writer.write(TaggedInstance("q1", ["a", "ü"], np.array([0.3, 0.1], np.float32)))
        writer.write(TaggedInstance("q2", [], np.array([], np.float32)))
    assert out.getvalue().decode() == (
        '{"uid":"q1","labels":[{"label":"a","score":0.3},{"label":"ü","score":0.1}]}\n'
        '{"uid":"q2","labels":[]}\n'
    )
    path = tmp_path / "p.jsonl"
    path.write_bytes(out.getvalue())
    file = read_prediction_file(path)
    assert file.names == ["a", "ü"]
    assert file.uids == ["q1", "q2"]
    assert file.counts.tolist() == [2, 0]
    assert file.labels.tolist() == [0, 1]
    assert file.scores.tolist() == np.array([0.3, 0.1], np.float32).tolist()


@pytest.mark.parametrize(
    "labels",
    [
        [{"label": "b", "score": 2}, {"label": "a", "score": 1.5}],
        [{"label": "b"}, {"label": "a"}],
        [["b", 2.0], ["a", 1.0]],
        ["b", "a"],
    ],
)
def test_labels_as_other_programs_write_them(tmp_path, labels):
    file = read_prediction_file(lines_file(tmp_path, {"labels": labels}))
    assert [file.names[i] for i in file.labels] == ["b", "a"]
    assert file.scores[0] > file.scores[1]
    assert file.uids is None


def test_ids_stay_ids(tmp_path):
    file = read_prediction_file(lines_file(tmp_path, {"labels": [7, 3]}, {"labels": [[3, 0.5]]}))
    assert file.names is None
    assert file.labels.tolist() == [7, 3, 3]


def test_compressed_files_and_blank_lines(tmp_path):
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"labels": ["a"]}\r\n\n{"labels": []}\n'))
    assert read_prediction_file(path).counts.tolist() == [1, 0]


def test_a_matrix_of_scores(tmp_path):
    sp.save_npz(tmp_path / "p.npz", sp.csr_array(np.array([[0, 0.2, 0.9], [0, 0, 0]])))
    file = read_prediction_file(tmp_path / "p.npz")
    assert file.counts.tolist() == [2, 0]
    assert file.labels.tolist() == [2, 1]


def test_any_data_format_is_a_set_of_labels(tmp_path):
    (tmp_path / "p.csv").write_text("text,labels\nx,b;a\ny,a\n")
    file = read_prediction_file(tmp_path / "p.csv")
    assert not file.ordered
    assert file.counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"label": "a"}, "expected an object with a list"),
        ({"labels": "a"}, "expected an object with a list"),
        ([1], "expected an object with a list"),
        ({"labels": [None]}, "expected a label as"),
        ({"labels": [{"name": "a"}]}, "expected a label as"),
        ({"labels": [["a", "high"]]}, "expected a label as"),
        ({"labels": [True]}, "expected a label as"),
        ({"labels": [7]}, "names in some places and ids in others"),
        ({"labels": [], "uid": "q"}, "some lines have a uid"),
        ({"labels": [], "row": 5}, "row 5 stands where row 1 should"),
    ],
)
def test_a_bad_line_is_named(tmp_path, record, message):
    path = lines_file(tmp_path, {"labels": ["a"]}, record)
    with pytest.raises(DataError, match=message) as caught:
        read_prediction_file(path)
    assert f"{path}:2: " in str(caught.value)


def test_broken_json_is_named(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"labels": []}\n{"labels": [}\n')
    with pytest.raises(DataError, match=r"p\.jsonl:2: "):
        read_prediction_file(path)


def test_an_archive_that_is_no_matrix(tmp_path):
    np.savez(tmp_path / "p.npz", a=np.ones(3))
    with pytest.raises(DataError, match="not a valid sparse matrix"):
        read_prediction_file(tmp_path / "p.npz")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_prediction_file(tmp_path / "p.jsonl")
