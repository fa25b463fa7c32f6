from __future__ import annotations

import json

import pytest

from .conftest import write_lines


@pytest.fixture
def small(tmp_path):
    """Two instances, one right at rank 1, one at rank 2."""
    truth = [{"text": "x", "labels": ["a"]}, {"text": "y", "labels": ["b", "c"]}]
    predicted = [{"labels": ["a", "b"]}, {"labels": ["a", "b"]}]
    return (
        write_lines(tmp_path / "predicted.jsonl", predicted),
        write_lines(tmp_path / "truth.jsonl", truth),
    )


def test_known_numbers(cli, small):
    values = cli("evaluate", *small, "--ks", "1,2", "--json").json["values"]
    assert values["P@1"] == 1 / 2
    assert values["P@2"] == (1 / 2 + 1 / 2) / 2
    assert values["R@2"] == (1 + 1 / 2) / 2


def test_reads_what_predict_wrote(cli, predictions, test_file):
    result = cli("evaluate", predictions, test_file)
    assert result.code == 0
    assert "@1" in result.out
    assert "30 instances, 5 labels" in result.out


def test_a_model_in_place_of_predictions_predicts(cli, model, predictions, test_file):
    expected = cli("evaluate", predictions, test_file, "--json").json
    found = cli("evaluate", model, test_file, "--json").json
    assert found["values"] == expected["values"]
    refused = cli("evaluate", model, test_file, "--filter", "none")
    assert refused.code == 2
    assert "--filter none is for prediction files" in refused.err


def test_rows_meet_by_uid(cli, predictions, test_file, tmp_path):
    turned = tmp_path / "turned.jsonl"
    turned.write_text("".join(predictions.read_text().splitlines(keepends=True)[::-1]))
    expected = cli("evaluate", predictions, test_file, "--json").json
    assert cli("evaluate", turned, test_file, "--json").json == expected


def test_training_data_adds_propensities_and_bins(cli, predictions, test_file, train_file):
    values = cli("evaluate", predictions, test_file, "--train", train_file, "--json").json["values"]
    assert {"PSP@1", "PSnDCG@5", "P[head]@1"} <= values.keys()
    other = cli(
        "evaluate", predictions, test_file, "--train", train_file, "--propensity", "0.6,2.6",
        "--json",
    )  # fmt: skip
    assert other.code == 0


def test_intervals(cli, small):
    report = cli("evaluate", *small, "--intervals", "--resamples", 50, "--json").json
    low, high = report["intervals"]["P@1"]
    assert 0 <= low <= 0.5 <= high <= 1
    assert "[" in cli("evaluate", *small, "--intervals", "--resamples", 50).out


def test_sets(cli, small):
    values = cli("evaluate", *small, "--sets", "--json").json["values"]
    assert values["micro-P"] == 2 / 4
    assert values["micro-R"] == 2 / 3


def test_rightly_empty_sets_are_remarked_upon_and_may_be_left_out(cli, tmp_path):
    labels = [["a"], ["a", "b"], []]
    truth = write_lines(tmp_path / "t.jsonl", [{"text": "x", "labels": some} for some in labels])
    sets = write_lines(tmp_path / "s.jsonl", [{"labels": some} for some in labels])
    result = cli("evaluate", sets, truth, "--sets")
    note = (
        "Instances without a true label, counted as 0 in the example-based metrics: 1; --skip-empty"
    )
    assert note in " ".join((result.out + result.err).split())
    report = cli("evaluate", sets, truth, "--sets", "--json").json
    assert (report["values"]["micro-F1"], report["values"]["example-F1"]) == (1, 2 / 3)
    skipped = cli("evaluate", sets, truth, "--sets", "--skip-empty", "--json").json
    assert (skipped["values"]["example-F1"], skipped["n_instances"], skipped["notes"]) == (1, 2, [])


def test_predictions_from_stdin(cli, small, monkeypatch):
    with small[0].open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert cli("evaluate", "-", small[1], "--json").json["values"]["P@1"] == 0.5


def test_a_format_without_order_is_remarked_upon(cli, small, tmp_path):
    (tmp_path / "p.csv").write_text("text,labels\nx,a\ny,b\n")
    result = cli("evaluate", tmp_path / "p.csv", small[1], "--json")
    assert result.json["values"]["P@1"] == 1.0
    assert "ties go to the smaller label id" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ks", "one"], "--ks takes whole numbers"),
        (["--ks", "0"], "0"),
        (["--filter", "some"], "predictions, both, none, got 'some'"),
        (["--read", "splitt=tst"], "did you mean 'split'"),
    ],
)
def test_bad_options(cli, small, options, message):
    result = cli("evaluate", *small, *options)
    assert result.code in (2, 3)
    assert message in result.err


def test_bad_propensities(cli, small):
    for value in ("a,b", "amazn"):
        result = cli("evaluate", *small, "--train", small[1], "--propensity", value)
        assert result.code == 2
        assert value in result.err


def test_truth_of_another_size(cli, small, test_file):
    result = cli("evaluate", small[0], test_file)
    assert result.code == 3
    assert "predictions for 2 instances, the truth has 30" in result.err


def test_filter_pairs_of_a_folder(cli, tmp_path):
    folder = tmp_path / "lf"
    folder.mkdir()
    write_lines(folder / "lbl.jsonl", [{"uid": "l0", "title": "a"}, {"uid": "l1", "title": "b"}])
    write_lines(
        folder / "tst.jsonl", [{"uid": "q", "title": "x", "content": "", "target_ind": [1]}]
    )
    (folder / "filter_labels_test.txt").write_text("0 0\n")
    predicted = write_lines(tmp_path / "p.jsonl", [{"uid": "q", "labels": ["a", "b"]}])

    def p1(*options):
        result = cli("evaluate", predicted, folder, "--json", *options)
        return json.loads(result.out)["values"]["P@1"]

    assert p1() == 1.0
    assert p1("--filter", "none") == 0.0


def test_cut_offs_are_not_for_sets(cli, small):
    result = cli("evaluate", *small, "--ks", "1,3,5", "--sets")
    assert result.code == 2
    assert "--ks 1,3,5 is for ranked labels" in result.err


def test_messages_name_stdin(cli, small, test_file, monkeypatch):
    with small[0].open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        result = cli("evaluate", "-", test_file)
    assert result.code == 3
    assert "error: stdin has predictions for 2 instances" in result.err
