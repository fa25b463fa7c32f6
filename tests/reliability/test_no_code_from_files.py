"""Nothing in the library runs what a file holds: no pickle, no eval, no code of other models."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "multitudes"
MODULES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve", "yaml"}
BUILT_IN = {"__import__", "compile", "eval", "exec"}
CALLS = {"os.popen", "os.system", "torch.hub.load", "torch.load", "np.fromregex"}
# Arguments and the only value that they may have.
VALUES = {"trust_remote_code": False, "allow_pickle": False, "shell": False, "weights_only": True}


def name_of(node: ast.expr) -> str:
    """``torch.load`` of the expression that it is."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def offences(source: str) -> list[str]:
    """What a module does that could run code that somebody else wrote."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            whole = node.module or ""
            found += [whole] if whole.split(".")[0] in MODULES else []
            names = {f"{whole}.{alias.name}" for alias in node.names}
            found += sorted(names & CALLS)
        elif isinstance(node, ast.Call):
            name = name_of(node.func)
            found += [name] if name in BUILT_IN | CALLS else []
        found += wrong_values(node)
    return found


def wrong_values(node: ast.AST) -> list[str]:
    """Arguments, or entries of a dict of arguments, with another value than the allowed one."""
    pairs: list[tuple[str | None, ast.expr]] = []
    if isinstance(node, ast.Call):
        pairs = [(keyword.arg, keyword.value) for keyword in node.keywords]
    elif isinstance(node, ast.Dict):
        pairs = [
            (key.value, value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        ]
    return [
        name
        for name, value in pairs
        if name in VALUES and getattr(value, "value", None) is not VALUES[name]
    ]


def test_the_library_runs_nothing_that_a_file_holds():
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert len(sources) > 100
    found = {str(path): bad for path, source in sources.items() if (bad := offences(source))}
    assert found == {}


def test_encoders_are_told_to_run_no_code_of_their_own():
    """transformers runs none by default; it is told nonetheless, wherever it loads something."""
    folder = PACKAGE / "encoder" / "backbone"
    for path in folder.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and name_of(node.func).startswith("Auto")
        ]
        for call in calls:
            keywords = {keyword.arg for keyword in call.keywords}
            assert None in keywords or "trust_remote_code" in keywords, ast.unparse(call)


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from joblib import load", "import yaml", "from torch import load",
        "torch.load(path)", "eval(text)", "exec(text)", "__import__(name)", "os.system('ls')",
        "np.load(path, allow_pickle=True)", "np.load(path, allow_pickle=wanted)",
        "subprocess.run(command, shell=True)", "AutoModel.from_pretrained(x, trust_remote_code=t)",
        "options = {'trust_remote_code': True}",
    ],
)  # fmt: skip
def test_each_of_them_is_noticed(source):
    assert offences(source) != []


def test_what_only_looks_like_it_is_not():
    assert offences("model.eval(); re.compile('x'); np.load(p, allow_pickle=False)") == []
    assert offences("options = {'trust_remote_code': False}; torch.compile(f)") == []
