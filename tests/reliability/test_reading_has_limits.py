"""What readers refuse before it costs anything: devices, ids out of nowhere, matrices that lie."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import memory
from multitudes.data import read_dataset, read_prediction_file, read_vocabulary
from multitudes.data.compression import open_bytes
from multitudes.data.formats.lf import read_filter_file
from multitudes.data.sparse_files import read_sparse
from multitudes.errors import DataError, ResourceError
from multitudes.metrics import evaluate
from multitudes.types import Predictions

ONE, AT = np.ones(1, np.float32), np.zeros(1, np.int32)
CSR = {"format": b"csr", "shape": (1, 2), "indptr": np.array([0, 1]), "indices": AT, "data": ONE}
COO = {"format": b"coo", "shape": (1, 2), "row": AT, "col": AT, "data": ONE}
DIA = {"format": b"dia", "shape": (2, 2), "offsets": AT, "data": np.ones((1, 2), np.float32)}
BSR = {**CSR, "format": b"bsr", "shape": (2, 2), "data": np.ones((1, 2, 2), np.float32)}


@pytest.mark.parametrize(
    "pair", ["0000000000000000000001 1", "+1 1", "1 -1", "9999999999999999999 0"]
)
def test_filter_pairs_are_read_whole_or_refused(tmp_path, pair):
    path = tmp_path / "filter_labels_test.txt"
    path.write_text(f"0 1\n{pair}\n")
    with pytest.raises(DataError, match=r"filter_labels_test.txt:2: not a filter pair"):
        read_filter_file(path, n_rows=5, n_labels=5)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no devices")
def test_a_device_is_no_file_also_behind_a_link(tmp_path):
    link = tmp_path / "data.jsonl"
    link.symlink_to("/dev/zero")
    for read in (read_dataset, read_prediction_file, open_bytes):
        with pytest.raises(DataError, match=r"data.jsonl is a (device|pipe)"):
            read(link)


def test_what_is_neither_file_nor_folder_is_named(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe is a pipe, a socket or a device"):
        read_dataset(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        place = Path(os.path.relpath(tmp_path / "socket"))  # such names must be short
        server.bind(str(place))
        with pytest.raises(DataError, match="socket"):
            open_bytes(place)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_path_that_cannot_be_is_a_data_error(name):
    with pytest.raises(DataError):
        read_dataset(name)


def test_ids_out_of_nowhere_are_taken_for_names_by_the_message(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "a", "labels": [2147483645]}\n')
    with pytest.raises(
        DataError, match=r"data.jsonl holds label id 2,147,483,645.*label_kind='names'"
    ):
        read_dataset(path)


def test_xml_entities_of_entities_are_refused(tmp_path):
    path = tmp_path / "v.rdf"
    path.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY a "x">\n<!ENTITY b "&a;&a;">]><r/>'
    )
    with pytest.raises(DataError, match=r"v.rdf:3: an entity is made of other entities"):
        read_vocabulary(path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({**CSR, "indices": AT + 2}, "'indices' must be from 0 to 1, got 2"),
        ({**CSR, "indices": AT - 1}, "'indices' must be from 0 to 1, got -1"),
        ({**CSR, "indptr": np.array([0, 5])}, "'indptr' must rise from 0 to 1"),
        ({**CSR, "indptr": np.array([1, 1])}, "'indptr' must rise from 0 to 1"),
        ({**CSR, "indptr": np.array([0, 1, 1])}, "'indptr' has 3 entries, not 2"),
        ({**CSR, "format": b"csc", "indptr": np.array([0, 1, 1]), "indices": AT + 1}, "'indices'"),
        ({**CSR, "shape": (-1, 2)}, "declares -1 rows"),
        ({**CSR, "shape": (1, 2, 3)}, "its shape has 3 numbers"),
        ({**CSR, "format": b"xyz"}, "its format is 'xyz'"),
        ({**CSR, "data": np.array([{}], object)}, "'data' is not an array of plain numbers"),
        ({**COO, "row": AT + 1}, "'row' must be from 0 to 0"),
        ({**COO, "row": AT.astype(float)}, "'row' must be one row of whole numbers"),
        ({**COO, "shape": (2_000_000_000, 2)}, "declares 2,000,000,000 rows, 1 entries"),
        ({**DIA, "offsets": AT + 2}, "a diagonal lies outside"),
        ({**DIA, "offsets": np.zeros(2, int), "data": np.ones((2, 2))}, "listed twice"),
        ({**BSR, "indices": AT + 1}, "'indices' must be from 0 to 0"),
        ({**BSR, "shape": (3, 2)}, "cannot be cut into blocks"),
    ],
)
def test_matrices_are_checked_before_they_are_converted(tmp_path, changed, message):
    np.savez(tmp_path / "m.npz", **changed)
    with pytest.raises(DataError, match=f"m.npz .*{message}"):
        read_sparse(tmp_path / "m.npz")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia"])
def test_sound_matrices_of_all_layouts_are_read(tmp_path, layout):
    dense = np.array([[1, 0, 2, 0], [0, 0, 0, 3]], np.float32)
    sp.save_npz(tmp_path / "m.npz", sp.csr_array(dense).asformat(layout))
    for wanted in ("csr", "csc"):
        found = read_sparse(tmp_path / "m.npz", layout=wanted)
        assert found.format == wanted
        np.testing.assert_array_equal(found.toarray(), dense)


def test_lists_of_predictions_ask_for_their_memory():
    scores = sp.csr_array(np.eye(3, dtype=np.float32))
    with memory.limited("50GB"), pytest.raises(ResourceError, match="room for 1,000,000,000,000"):
        Predictions.from_csr(scores, 10**12)
    found = evaluate(Predictions.from_csr(scores, 2), scores, ks=[10**9])  # needs no such memory
    assert found.values["nDCG@1000000000"] == pytest.approx(1)
