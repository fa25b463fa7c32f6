"""Type checkers see the public names as they are: mypy and pyright read a user's script."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A comment says what a checker must reveal, or that it must report an error there.
SCRIPT = """\
import multitudes
from multitudes import Dataset, Disentangled, Eagle, LabelTree, OTSeq2Set, Prime, SolverConfig
from multitudes import MultitudesError, Predictions, Tagger, TfidfFeatures, XRLinear, evaluate
from multitudes.groups import DeepMIML
from multitudes.metrics import precision_at_k

tagger = Tagger("xr-linear", random_state=1).fit(["a text"], [["a label"]])
reveal_type(tagger)  # Tagger
reveal_type(tagger.predict(["a text"], top_k=5))  # TagLists
reveal_type(tagger.predict(["a text"])[0][0].label)  # str
reveal_type(tagger.predict_sets(["a text"]).to_lists())  # list[list[str]]
reveal_type(tagger.evaluate(["a text"], [["a label"]]))  # Report
reveal_type(tagger.score(["a text"], [["a label"]]))  # float
reveal_type(tagger.calibrate(["a text"], [["a label"]]))  # Tagger
reveal_type(tagger.partial_fit(["a text"], [["a label"]]))  # Tagger
reveal_type(tagger.unreadable([""]))  # list[int]
data = Dataset.from_lists(["a text"], [["a label"]])
reveal_type(data)  # Dataset
reveal_type(Dataset.from_pandas(None, text="text", labels=["a", "b"]))  # Dataset
reveal_type(Tagger().fit(data, validation=data, checkpoint="folder"))  # Tagger
reveal_type(Tagger.load("model"))  # Tagger
model = XRLinear(solver=SolverConfig(cost=2.0), random_state=1)
found = model.fit([[1.0]], [[1]]).predict([[1.0]], top_k=1)
reveal_type(found)  # Predictions
reveal_type(found.top_k)  # int
reveal_type(found.to_lists(["a label"]))  # list[list[Any]]
reveal_type(Disentangled(model, overlap=2).predict([[1.0]]))  # Predictions
reveal_type(evaluate(found, [[1]]))  # Report
reveal_type(Prime())  # Prime
reveal_type(OTSeq2Set())  # OTSeq2Set
reveal_type(DeepMIML())  # DeepMIML
reveal_type(multitudes.load("model"))  # object
reveal_type(multitudes.__version__)  # str
Tagger(modle="x")  # error
XRLinear(seed=1)  # error
multitudes.Taggr  # error
tagger.predict("a text", topk=5)  # error
Tagger().fit(["a text"], [["a label"]], validaton=data)  # error
Dataset.from_pandas(None, text="text")  # error
"""
MARKS = {
    number: line.partition("  # ")[2]
    for number, line in enumerate(SCRIPT.splitlines(), 1)
    if "  # " in line
}
SHOWN = {number: mark for number, mark in MARKS.items() if mark != "error"}
WRONG = {number for number, mark in MARKS.items() if mark == "error"}

# Their types say nothing about ours, and reading torch takes a minute.
SKIPPED = (
    "accelerate", "faiss", "huggingface_hub", "numba", "pyarrow", "ray", "rich", "safetensors",
    "sklearn", "tokenizers", "torch", "transformers", "triton", "typer",
)  # fmt: skip
MYPY = f"""
[mypy]
strict = true
follow_imports = silent
[mypy-{",".join(f"{name}.*" for name in SKIPPED)}]
follow_imports = skip
ignore_missing_imports = true
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path / "script.py"


def test_mypy(script, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    (script.parent / "mypy.ini").write_text(MYPY)
    cache = ROOT / ".mypy_cache" / "users-script"  # the first run takes ten seconds
    options = ["--config-file", script.parent / "mypy.ini", "--cache-dir", cache]
    command = [sys.executable, "-m", "mypy", *options, "--no-pretty", "script.py"]
    done = subprocess.run(
        command, cwd=script.parent, capture_output=True, text=True, timeout=300, check=False
    )
    lines = re.findall(r"^script\.py:(\d+): (\w+): (.*)$", done.stdout, re.MULTILINE)
    assert {int(number) for number, kind, _ in lines if kind == "error"} == WRONG, done.stdout
    shown = {int(n): re.search('Revealed type is "(.*)"', text) for n, _, text in lines}
    assert {number: plain(match[1]) for number, match in shown.items() if match} == SHOWN


def plain(revealed: str) -> str:
    """Return mypy's name of a type without modules, and of a named tuple without its fields."""
    return re.sub(r"tuple\[[^[\]]*, fallback=(\w+)\]", r"\1", re.sub(r"(?:\w+\.)+", "", revealed))


def test_pyright(script):
    config = {"include": ["script.py"], "extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    (script.parent / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(script.parent)]
    done = subprocess.run(
        [*command, "--pythonpath", sys.executable],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = [(d["range"]["start"]["line"] + 1, d["severity"], d["message"]) for d in found]
    assert {number for number, severity, _ in lines if severity == "error"} == WRONG, done.stdout
    shown = {number: re.search(r'is "([^"]*)"$', text) for number, _, text in lines}
    assert {number: match[1] for number, match in shown.items() if match} == SHOWN
