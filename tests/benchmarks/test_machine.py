"""What a record says of where it comes from."""

import os
import subprocess
import sys

import pytest

from benchmarks import machine


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository of one commit with code, a page and a record."""
    for name in ("code.py", "README.md", "docs/page.html", "benchmarks/results/one.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    who = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    for order in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *order], cwd=tmp_path, check=True)
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.delenv(machine.COMMIT, raising=False)
    return tmp_path


def test_changed_code_is_told_and_records_and_pages_are_not(checkout):
    clean = machine.commit()
    assert clean is not None
    assert not clean.endswith("+")
    for name in ("README.md", "docs/page.html", "benchmarks/results/two.json"):
        (checkout / name).write_text("2")
    assert machine.commit() == clean
    (checkout / "code.py").write_text("2")
    assert machine.commit() == f"{clean}+"


def test_code_that_nobody_knows_is_told(checkout):
    (checkout / "new.py").write_text("1")
    assert machine.commit().endswith("+")


def test_where_git_does_not_reach(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.delenv(machine.COMMIT, raising=False)
    assert machine.commit() is None
    monkeypatch.setenv(machine.COMMIT, "0123456789")
    assert machine.commit() == "0123456789"


def test_the_command_and_the_question_of_a_running_benchmark(tmp_path):
    (tmp_path / "speed.py").write_text(
        '"""How fast? ``python -m speed``.\n\nMore."""\n'
        "from benchmarks import machine\n"
        "print(machine.command(), machine.question(), sep='\\n')\n"
    )
    path = os.pathsep.join([str(tmp_path), str(machine.ROOT)])
    shown = subprocess.run(
        [sys.executable, "-m", "speed", "--name", "two words"],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.splitlines() == ["python -m speed --name 'two words'", "How fast?"]
