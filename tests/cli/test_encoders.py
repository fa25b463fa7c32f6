"""Text encoders on the command line: train, predict, evaluate, inspect."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from multitudes.cli import main
from multitudes.tagger import Tagger

from .conftest import write_lines

QUICK = [
    f"--set={setting}"
    for setting in (
        "backbone.name=scratch",
        "backbone.scratch_layers=1",
        "backbone.scratch_dim=32",
        "backbone.max_length=12",
        "sampler.batch_size=24",
        "training.epochs=6",
        "training.learning_rate=5e-3",
        "training.warmup_steps=4",
    )
] + ["--device", "cpu", "--threads", "1"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory, train_file):
    folder = tmp_path_factory.mktemp("models") / "encoder"
    with pytest.raises(SystemExit) as caught:
        main(["train", str(train_file), "-o", str(folder), "-m", "prime-lite", "-q", *QUICK])
    assert not caught.value.code
    return folder


def test_predictions_can_be_evaluated(cli, encoder, test_file, tmp_path):
    path = tmp_path / "predictions.jsonl"
    assert cli("predict", encoder, test_file, "-o", path, "--device", "cpu").code == 0
    report = cli("evaluate", path, test_file, "--json").json
    assert report["values"]["P@1"] > 0.8


def test_the_number_format_of_prediction(cli, encoder, model, test_file, tmp_path, monkeypatch):
    def scores(*options):
        found = cli("predict", encoder, "--text", "juicy apple", "--json", *options).json
        return {entry["label"]: entry["score"] for entry in found[0]["labels"]}

    exact, near = scores("--precision", "float32"), scores("--precision", "bf16")
    assert exact != near
    assert near == pytest.approx(exact, abs=0.05)
    assert scores() in (exact, near)
    out = tmp_path / "calibrated"
    result = cli("calibrate", encoder, test_file, "-o", out, "--precision", "float32")
    assert result.code == 0
    assert Tagger.load(out).model_.precision == "auto"  # for this run alone
    result = cli("predict", encoder, "--text", "a", "--precision", "fp8")
    assert result.code == 2
    assert "got 'fp8'" in result.err
    assert "float32 alone" in cli("predict", model, "--text", "a", "--precision", "bf16").err
    monkeypatch.setenv("MULTITUDES_BF16", "off")
    result = cli("predict", encoder, "--text", "a", "--device", "cpu", "--precision", "bf16")
    assert result.code == 2
    assert "does not work on this CPU" in result.err


def test_filter_pairs_are_left_out(cli, encoder, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    names = Tagger.load(encoder).classes_
    write_lines(folder / "lbl.json", [{"uid": name, "title": name} for name in names])
    write_lines(folder / "tst.json", [{"uid": "q", "title": "juicy apple", "target_ind": [2]}])
    fruit = names.index("fruit")
    (folder / "filter_labels_test.txt").write_text(f"0 {fruit}\n")
    result = cli("predict", encoder, folder, "-k", 4)
    labels = [entry["label"] for entry in json.loads(result.out)["labels"]]
    assert len(labels) == 4
    assert "fruit" not in labels


def test_explain_shows_what_a_prototype_is_made_of(cli, encoder):
    result = cli("predict", encoder, "--text", "juicy apple orchard", "--explain", "-k", 1)
    assert "fruit" in result.out
    assert "prototype: its text " in result.out
    assert "keep_instances=true" in result.out


def test_inspect_shows_the_encoder_and_its_folder(cli, encoder):
    result = cli("inspect", encoder)
    for words in (
        "5 labels, encoder scratch",
        "prime  (model)",
        "sentence-transformers/",
        " files",
    ):
        assert words in result.out
    summary = cli("inspect", encoder, "--json").json
    assert summary["encoders"] == ["scratch"]
    assert summary["vocabulary"] is None
    (backbone,) = [entry for entry in summary["objects"] if entry["kind"] == "backbone"]
    folder = backbone["folders"]["sentence-transformers"]
    assert 0 < folder["bytes"] < summary["bytes"]
    assert cli("inspect", encoder, "--vocabulary").code == 4


def test_validation_by_share_or_file_and_a_checkpoint(cli, train_file, test_file, tmp_path):
    arguments = (
        "train",
        train_file,
        "-m",
        "prime-lite",
        "--force",
        *QUICK,
        "--set",
        "training.epochs=2",
    )
    checkpoint = ("--checkpoint", tmp_path / "c", "--set", "training.checkpoint_minutes=0")
    result = cli(*arguments, "-o", tmp_path / "m", "--validation", 0.25, *checkpoint)
    assert result.code == 0
    assert "kept epoch " in result.err
    assert "validation:" in result.out
    assert not (tmp_path / "c").exists()
    result = cli(*arguments, "-o", tmp_path / "m", "--validation", test_file, "--json")
    assert result.json["n_instances"] == 120
    assert result.json["validation"]["n_instances"] == 30
    assert result.json["notes"][0].startswith("kept epoch ")
    result = cli(*arguments, "-o", tmp_path / "m", "--validation", "nowhere.jsonl")
    assert result.code == 3
    assert "nowhere.jsonl does not exist" in result.err


def test_a_validation_file_is_for_trees_too(cli, train_file, test_file, tmp_path):
    result = cli(
        "train", train_file, "-o", tmp_path / "m", "--validation", test_file, "--json",
        "--checkpoint", tmp_path / "c",
    )  # fmt: skip
    assert result.json["n_instances"] == 120
    assert result.json["validation"]["n_instances"] == 30


def test_groups_teach_an_encoder(cli, train_file, test_file, tmp_path):
    assert cli("group", train_file, "--random", 2, "-o", tmp_path / "g", "-q").code == 0
    result = cli(
        "train", tmp_path / "g" / "instances.jsonl", "--groups", tmp_path / "g" / "groups.jsonl",
        "-o", tmp_path / "m", "-m", "prime-lite", *QUICK, "--test", test_file,
    )  # fmt: skip
    assert result.code == 0
    assert "labels assigned to instances: " in result.err
    assert "prime-lite, as asked for; learned from groups" in result.err


def test_words_beside_an_encoder(cli, encoder, train_file, test_file, tmp_path):
    features = ("--features", f"tfidf,encoder:{encoder}")
    copy = tmp_path / "encoder"
    shutil.copytree(encoder, copy)
    result = cli(
        "train", train_file, "-o", tmp_path / "m", "-m", "xr-linear", "--test", test_file, "--json",
        "--features", f"tfidf,encoder:{copy}", "--set", "features.min_df=2",
    )  # fmt: skip
    assert result.json["test"]["values"]["P@1"] > 0.8
    shutil.rmtree(copy)
    assert "fruit" in cli("predict", tmp_path / "m", "--text", "juicy apple orchard").out
    assert "encoder scratch" in cli("inspect", tmp_path / "m").out
    rows = cli("train", "--list-settings", "--json", "-m", "xr-linear", *features).json
    assert {"features.min_df", "features.max_length"} <= {row["name"] for row in rows}


def test_every_setting_of_an_encoder_has_a_sentence(cli):
    rows = {
        row["name"]: row for row in cli("train", "--list-settings", "--json", "-m", "prime").json
    }
    assert rows["sampler.positives"]["default"] == 2
    assert "backbone.name" in rows
    assert "training.random_state" not in rows
    assert [name for name, row in rows.items() if not row["help"]] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "primer"], "did you mean 'prime'?"),
        (["-m", "prime", "--set", "loss.gama_min=0.2"], "did you mean 'loss.gamma_min'?"),
        (["-m", "prime", "--features", "tfidf"], "takes no features"),
        (["-m", "prime", "--device", "gpu"], "got 'gpu'"),
        (["-m", "xr-linear", "--device", "cuda"], "computes on the CPU alone"),
        (["-m", "xr-linear", "--features", "tf-idf"], "did you mean 'tfidf'?"),
    ],
)
def test_wrong_options_are_refused_before_the_work(cli, tmp_path, arguments, message):
    result = cli("train", "nowhere.jsonl", "-o", tmp_path / "m", *arguments)
    assert result.code == 2
    assert message in result.err


@pytest.mark.parametrize("verb", ["train", "predict"])
def test_without_torch_one_line_says_what_to_install(verb, encoder, train_file, tmp_path):
    arguments = {
        "train": ["train", str(train_file), "-o", str(tmp_path / "m"), "-m", "prime"],
        "predict": ["predict", str(encoder), "--text", "juicy apple"],
    }[verb]
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        f"from multitudes.cli import main\nmain({arguments!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 5
    assert done.stderr == ("error: torch is not installed: run  pip install 'multitudes[deep]'\n")


@pytest.mark.parametrize("case", ["help", "settings of a tree", "inspect", "predict by a tree"])
def test_torch_is_imported_for_encoders_alone(case, encoder, model):
    arguments = {
        "help": ["train", "--help"],
        "settings of a tree": ["train", "--list-settings", "-m", "xr-linear"],
        "inspect": ["inspect", str(encoder)],
        "predict by a tree": ["predict", str(model), "--text", "juicy apple"],
    }[case]
    code = (
        "import sys\nfrom multitudes.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit as stop: assert not stop.code\n"
        "sys.stderr.write(str('torch' in sys.modules))"
    )
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr == "False"


@pytest.mark.parametrize("model", ["prime-lite", "dpr"])
def test_an_encoder_is_updated(cli, train_file, tmp_path, model):
    settings = ["--set", "keep_instances=true"]
    folder = tmp_path / "encoder"
    assert cli("train", train_file, "-o", folder, "-m", model, "-q", *QUICK, *settings).code == 0
    new = [
        {"text": "guitar strap of leather", "labels": ["guitar straps"]},
        {"text": "leather strap", "labels": ["belts"]},
        {"text": "nothing", "labels": []},
    ] * 8
    data = write_lines(tmp_path / "new.jsonl", new)
    report = cli("update", folder, data, "--json", "--device", "cpu").json
    assert report["labels_added"] == ["guitar straps"]
    assert (report["n_instances"], report["n_without_labels"]) == (16, 8)
    assert report["words"] is None
    tagger = Tagger.load(folder)
    assert len(tagger.examples_) == 120 + 16
    found = cli("predict", folder, "--text", "guitar strap", "--json", "--device", "cpu").json
    assert "guitar straps" in [tag["label"] for tag in found[0]["labels"]]
    assert cli("update", folder, "--remove-labels", "music", "--device", "cpu").code == 0
    assert sorted(Tagger.load(folder).classes_) == [
        "belts", "fish", "fruit", "guitar straps", "planets",
    ]  # fmt: skip


def test_an_encoder_predicts_among_some_labels(cli, encoder, test_file):
    arguments = ("--labels", "fish,music", "-k", 3, "--device", "cpu")
    found = [
        json.loads(line) for line in cli("predict", encoder, test_file, *arguments).out.splitlines()
    ]
    whole = [
        json.loads(line)
        for line in cli("predict", encoder, test_file, "--device", "cpu").out.splitlines()
    ]
    for line, all_labels in zip(found, whole, strict=True):
        scores = {tag["label"]: tag["score"] for tag in all_labels["labels"]}
        assert {tag["label"] for tag in line["labels"]} == {"fish", "music"}
        for tag in line["labels"]:
            assert tag["score"] == pytest.approx(scores[tag["label"]], abs=1e-5)
