"""multitudes convert MODEL-OF-ANOTHER-LIBRARY MODEL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import scipy.sparse as sp

FIXTURES = Path(__file__).parents[1] / "interchange" / "fixtures"
PECOS = FIXTURES / "pecos" / "binary" / "model"
OMIKUJI = FIXTURES / "omikuji" / "uneven" / "model"
TEXTS = FIXTURES / "texts" / "bigrams-and-characters" / "model"


@pytest.fixture
def features_file(tmp_path):
    X = sp.csr_array(sp.load_npz(FIXTURES / "pecos" / "X_test.npz"))
    lines = [
        " ".join(f"{j}:{v}" for j, v in zip(X[[i]].indices, X[[i]].data, strict=True))
        for i in range(5)
    ]
    path = tmp_path / "X.txt"
    path.write_text(f"5 {X.shape[1]} 16\n" + "".join(f"0 {line}\n" for line in lines))
    return path


@pytest.mark.parametrize("source", [PECOS, OMIKUJI])
def test_a_converted_model_predicts(cli, tmp_path, features_file, source):
    result = cli("convert", source, tmp_path / "model")
    assert result.code == 0, result.err
    assert "imported: 16 labels, over X of 12 columns; saved to" in result.err
    found = cli("predict", tmp_path / "model", features_file, "-q")
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert len(rows) == 5
    assert all(row["labels"][0]["label"].isdecimal() for row in rows)


def test_a_text_model_predicts_from_texts(cli, tmp_path):
    result = cli("convert", TEXTS, tmp_path / "model")
    assert "6 labels, over texts" in result.err
    (tmp_path / "in.jsonl").write_text('{"text": "w1 w2"}\n')
    found = cli("predict", tmp_path / "model", tmp_path / "in.jsonl", "-q")
    assert json.loads(found.out)["labels"][0]["label"].startswith("item ")


@pytest.mark.parametrize("form", ["txt", "jsonl"])
def test_labels_get_names(cli, tmp_path, features_file, form):
    names = [f"label {i}" for i in range(16)]
    lines = names if form == "txt" else [json.dumps({"title": name}) for name in names]
    path = tmp_path / f"names.{form}"
    path.write_text("".join(f"{line}\n" for line in lines))
    assert cli("convert", OMIKUJI, tmp_path / "model", "--labels", path, "-q").code == 0
    found = cli("predict", tmp_path / "model", features_file, "-q")
    assert '"label":"label ' in found.out


def test_too_few_names_are_refused(cli, tmp_path):
    (tmp_path / "names.txt").write_text("a\nb\n")
    result = cli("convert", PECOS, tmp_path / "model", "--labels", tmp_path / "names.txt")
    assert result.code == 3
    assert "2 label names" in result.err
    assert not (tmp_path / "model").exists()


def test_a_place_that_is_taken_is_refused(cli, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine").touch()
    result = cli("convert", PECOS, tmp_path / "model")
    assert result.code == 2
    assert "is there already" in result.err
    assert cli("convert", PECOS, "-").code == 2


def test_labels_are_for_models_alone(cli, train_file, tmp_path):
    result = cli("convert", train_file, tmp_path / "out.csv", "--labels", train_file)
    assert result.code == 2
    assert "is not a model folder" in result.err


def test_options_of_data_are_refused_for_models(cli, tmp_path):
    result = cli("convert", PECOS, tmp_path / "model", "--to", "csv")
    assert result.code == 2
    assert "--to" in result.err


def test_a_damaged_model_is_an_error_of_one_line(cli, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "settings.json").write_text("{")
    (tmp_path / "old" / "tree0.cbor").write_bytes(b"")
    result = cli("convert", tmp_path / "old", tmp_path / "model")
    assert result.code == 4
    assert "settings.json is not valid JSON" in result.err


@pytest.mark.parametrize(("source", "library"), [(PECOS, "pecos"), (OMIKUJI, "omikuji")])
def test_a_model_that_was_not_imported_says_how(cli, source, library):
    result = cli("predict", source, "--text", "a")
    assert result.code == 2
    assert f"is a model of {library}: import it first, with multitudes convert" in " ".join(
        result.err.split()
    )
