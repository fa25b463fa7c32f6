from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from multitudes import progress, store
from multitudes.errors import ResourceError

VERBS = [
    "train",
    "predict",
    "evaluate",
    "compare",
    "calibrate",
    "update",
    "fuse",
    "convert",
    "group",
    "inspect",
    "demo",
    "version",
]
COMMAND = [sys.executable, "-c", "from multitudes.cli import main; main()"]


def test_help_lists_every_verb(cli):
    result = cli("--help")
    assert result.code == 0
    for verb in VERBS:
        assert f" {verb} " in result.out


def test_no_arguments_show_the_help(cli):
    assert "multitudes demo" in cli().out + cli().err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(cli, verb):
    result = cli(verb, "--help")
    assert result.code == 0
    assert f"Example:  multitudes {verb}" in result.out
    assert "config:" not in result.out


def test_help_sentences_come_from_the_config_classes(cli, monkeypatch):
    from multitudes.data.options import ReadOptions

    monkeypatch.setenv("COLUMNS", "300")
    sentence = next(doc for name, _, _, doc in ReadOptions.describe() if name == "on_error")
    assert sentence in " ".join(cli("train", "--help").out.split())


def test_one_verb_is_put_together_without_the_others():
    code = (
        "import sys; from multitudes.cli.app import app_for; app_for(['version', '--json']); "
        "print(sorted(name for name in sys.modules if name.startswith('multitudes.cli.train')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_verb_that_does_not_exist_is_told_the_nearest(cli):
    assert "Did you mean 'train'?" in cli("trian").err


@pytest.mark.parametrize("arguments", [["--help"], ["version"]])
def test_nothing_heavy_is_imported_to_say_hello(arguments):
    code = (
        "import sys\nfrom multitudes.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'torch'} & set(sys.modules)\n"
        "sys.stderr.write(','.join(sorted(heavy)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["inspect", "nowhere"], 4, "there is no model at nowhere"),
        (["train", "nowhere.jsonl", "-o", "m"], 3, "nowhere.jsonl does not exist"),
        (["train"], 2, "multitudes train DATA -o MODEL"),
        (["convert"], 2, "multitudes convert IN OUT"),
        (["predict", "model"], 2, "multitudes predict MODEL DATA"),
        (["train", "--no-such-option"], 2, "No such option"),
        (["no-such-verb"], 2, "No such command"),
    ],
)
def test_exit_codes_and_one_line_errors(cli, tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    result = cli(*arguments)
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyError("x"), 1, "unexpected error: KeyError: 'x' (add --traceback"),
        (MemoryError("big"), 6, "out of memory"),
        (ResourceError("needs 90 GB"), 6, "needs 90 GB"),
        (KeyboardInterrupt(), 130, "nothing was left half-written"),
    ],
)
def test_what_goes_wrong_inside(cli, monkeypatch, error, code, message):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(store, "read_manifest", fail)
    result = cli("inspect", "model")
    assert result.code == code
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("place", [0, 2])
def test_traceback_on_demand_before_or_after_the_verb(cli, place):
    arguments = ["inspect", "nowhere"]
    arguments.insert(place, "--traceback")
    result = cli(*arguments)
    assert result.code == 4
    assert "Traceback" in result.err
    assert result.err.rstrip().endswith("error: there is no model at nowhere: check the path")


def test_traceback_by_environment(cli, monkeypatch):
    monkeypatch.setenv("MULTITUDES_TRACEBACK", "1")
    assert "Traceback" in cli("inspect", "nowhere").err


def test_ctrl_c_exits_130_and_leaves_nothing(tmp_path, train_file):
    script = (
        "import sys, time\n"
        "from multitudes.store import saving\n"
        "def slow(state, folder):\n"
        "    (folder / 'half').write_text('x'); sys.stderr.write('saving\\n'); sys.stderr.flush()\n"
        "    time.sleep(60)\n"
        "saving.write_state = slow\n"
        "from multitudes.cli import main\n"
        f"main(['train', {str(train_file)!r}, '-o', {str(tmp_path / 'm')!r}, '-q'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline() == "saving\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.startswith("stopped; nothing was saved: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_has_seen_enough_is_no_error():
    process = subprocess.Popen(
        [*COMMAND, "convert", "--list-settings"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 141
    assert err == b""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [*COMMAND, "--show-completion", shell], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0
    assert "_MULTITUDES_COMPLETE" in done.stdout


def completions(words: str) -> str:
    environment = {
        **os.environ,
        "_MULTITUDES_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment)
    return done.stdout


def test_completion_knows_verbs_models_formats_and_settings():
    assert "evaluate" in completions("multitudes eva")
    assert "parabel" in completions("multitudes train --model par")
    assert "parquet" in completions("multitudes convert --format par")
    assert "text_column=" in completions("multitudes convert --read text")


def test_progress_goes_to_stderr_and_quiet_turns_it_off(cli, tmp_path, train_file, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_A_LINE", -1.0)
    loud = cli("convert", train_file, tmp_path / "loud.csv")
    assert "reading train.jsonl" in loud.err
    assert loud.out == ""
    assert cli("convert", train_file, tmp_path / "quiet.csv", "-q").err == ""


def test_the_documented_exit_codes_are_those_of_the_errors():
    from multitudes import errors
    from multitudes.cli import verb

    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    documented = {
        name: int(code)
        for code, names in re.findall(r"^\| (\d+) \|.*\| (`.*`) \|$", page, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", names)
    }
    assert documented == {
        cls.__name__: cls.exit_code
        for cls in errors.MultitudesError.__subclasses__()
        if cls.__module__ == errors.__name__  # others are never seen by a command
    }
    for code in (verb.UNEXPECTED, 129, 130, verb.BROKEN_PIPE, 143):
        assert f"\n| {code} |" in page
