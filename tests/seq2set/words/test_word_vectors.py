"""Files of word vectors: all formats give the same, and broken ones are named."""

import gzip

import numpy as np
import pytest

from multitudes.errors import ConfigError, DataError
from multitudes.seq2set.words.word_vectors import read_word_vectors

WORDS = ["cat", "dog", "naïve", "Paris", "a b"]
VECTORS = np.array([[1, 2, 3], [0.5, -1, 4], [1e-3, 0, 2], [7, 8, 9], [3, 2, 1]], np.float32)
LINES = [f"{w} {' '.join(map(str, v))}" for w, v in zip(WORDS, VECTORS.tolist(), strict=True)]


def write(path, kind):
    text = "\n".join(LINES) + "\n"
    if kind == "glove":
        path.write_text(text, encoding="utf-8")
    elif kind == "word2vec":
        path.write_text(f"5 3\n{text}", encoding="utf-8")
    elif kind == "gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        end = b"\n" if kind == "binary" else b""
        entries = [
            w.replace(" ", "_").encode() + b" " + v.tobytes() + end
            for w, v in zip(WORDS, VECTORS, strict=True)
        ]
        path.write_bytes(b"5 3\n" + b"".join(entries))
    return path


@pytest.mark.parametrize("kind", ["glove", "word2vec", "gz", "binary", "binary without line ends"])
def test_all_formats(tmp_path, kind):
    found = read_word_vectors(write(tmp_path / "v", kind), ["dog", "mouse", "naïve", "cat"])
    np.testing.assert_array_equal(found.vectors, VECTORS[[1, 0, 2, 0]] * [[1], [0], [1], [1]])
    assert found.known.tolist() == [True, False, True, True]


def test_a_word_with_a_space(tmp_path):
    assert read_word_vectors(write(tmp_path / "v", "glove"), ["a b"]).vectors.tolist() == [
        [3, 2, 1]
    ]


def test_another_case_stands_in_where_the_word_itself_is_missing(tmp_path):
    path = write(tmp_path / "v", "glove")
    assert read_word_vectors(path, ["paris"]).vectors.tolist() == [[7, 8, 9]]
    path.write_text("\n".join([*LINES, "PARIS 0 0 0", "paris 1 1 1"]), encoding="utf-8")
    assert read_word_vectors(path, ["paris"]).vectors.tolist() == [[1, 1, 1]]


def test_binary_in_small_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("multitudes.seq2set.words.word_vectors.SAMPLE_BYTES", 9)
    monkeypatch.setattr("multitudes.seq2set.words.word_vectors.BLOCK_BYTES", 5)
    found = read_word_vectors(write(tmp_path / "v", "binary"), WORDS[:4])
    np.testing.assert_array_equal(found.vectors, VECTORS[:4])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("owl 1 2", r"v:6: the line of 'owl' has 2 numbers, expected 3"),
        ("owl 1 2 3 4", r"v:6: the line of 'owl' has 4 numbers, expected 3"),
        ("owl 1 x 3", r"v:6: the line of 'owl' has 'x' among its 3 numbers"),
        ("owl 1 nan 3", r"v:6: the vector of 'owl' is not finite"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, message):
    path = tmp_path / "v"
    path.write_text("\n".join([*LINES, line, "fox 1 2 3"]), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_word_vectors(path, ["cat", "owl"])


def test_lines_are_counted_behind_a_header(tmp_path):
    path = tmp_path / "v"
    path.write_text("\n".join(["3 3", *LINES[:2], "owl 1 2"]), encoding="utf-8")
    with pytest.raises(DataError, match="v:4: the line of 'owl'"):
        read_word_vectors(path, ["cat"])


def test_wrong_width(tmp_path):
    with pytest.raises(ConfigError, match=r"holds vectors of width 3, but dim=300 is asked for"):
        read_word_vectors(write(tmp_path / "v", "glove"), ["cat"], dim=300)


def test_a_binary_file_that_is_cut_off(tmp_path):
    path = write(tmp_path / "v", "binary")
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(DataError, match="ends in entry 5 of the 5 that its first line"):
        read_word_vectors(path, ["cat"])


@pytest.mark.parametrize("header", [b"4 3\n", b"5 2\n", b"5 4\n"])
def test_a_binary_file_that_holds_something_else_than_announced(tmp_path, header):
    path = write(tmp_path / "v", "binary")
    path.write_bytes(header + path.read_bytes().removeprefix(b"5 3\n"))
    with pytest.raises(DataError, match=r"v (goes on behind|ends in).*width is not"):
        read_word_vectors(path, ["cat"])


@pytest.mark.parametrize("kind", ["glove", "word2vec"])
def test_a_byte_order_mark_and_tabs_are_read_over(tmp_path, kind):
    path = write(tmp_path / "v", kind)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b" ", b"\t"))
    np.testing.assert_array_equal(read_word_vectors(path, WORDS[:4]).vectors, VECTORS[:4])


def test_headers_that_cannot_be(tmp_path):
    path = tmp_path / "v"
    path.write_text("5 3\n\n")
    with pytest.raises(DataError, match=r"v has a first line \(5 3\), but no vectors behind it"):
        read_word_vectors(path, ["cat"])
    path.write_text("5 99999999999\n" + "\n".join(LINES))
    with pytest.raises(DataError, match="v:1: the first line announces vectors of width 99999999"):
        read_word_vectors(path, ["cat"])


def test_files_that_hold_no_vectors(tmp_path):
    path = tmp_path / "v"
    path.write_text("")
    with pytest.raises(DataError, match="v:1: the line is empty"):
        read_word_vectors(path, ["cat"])
    path.write_text("cat\ndog\n")
    with pytest.raises(DataError, match="v:1: expected a word and its numbers, got 'cat'"):
        read_word_vectors(path, ["cat"])
    with pytest.raises(DataError, match="nowhere"):
        read_word_vectors(tmp_path / "nowhere", ["cat"])
