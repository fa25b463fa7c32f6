"""bfloat16 is tried in a child process; here the child is played, for every way it can end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import multitudes
from multitudes.deep import processor
from multitudes.errors import ConfigError

ILLEGAL = (-signal.SIGILL, b"loaded\n")
NO_PRIMITIVE = (1, b"loaded\n")
RIGHT = (0, b"loaded\ndone\n")
AMX = ("sapphirerapids", ("amx-bf16", "amx-tile", "avx512bf16"))
VARIABLES = (*processor._VARIABLES, processor.SETTING)


class Children:
    """Stands for `subprocess.run`: one ending for a plain child, one for a child without AMX."""

    def __init__(self, plain=ILLEGAL, without_amx=RIGHT):
        self.endings = {None: plain, processor.WITHOUT_AMX: without_amx}
        self.started = []

    def run(self, command, *, env, timeout, **others):
        assert command[0] == sys.executable
        isa = env.get(processor.ISA)
        self.started.append(isa)
        ending = self.endings[isa]
        if isinstance(ending, Exception):
            raise ending
        return SimpleNamespace(returncode=ending[0], stdout=ending[1])


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A processor that claims AMX, with no trial remembered and torch not imported yet."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that what `prepare` sets is undone
        monkeypatch.delenv(name)
    monkeypatch.setattr(processor, "host", lambda: AMX)
    monkeypatch.setattr(processor, "_known", {})
    monkeypatch.setattr(processor, "_set_here", False)
    monkeypatch.setattr(processor, "cache_folder", lambda: tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    def start(children):
        monkeypatch.setattr(processor.subprocess, "run", children.run)
        return children

    return start


def forget(monkeypatch):
    """As in another process: only what is on the disk is known."""
    monkeypatch.setattr(processor, "_known", {})
    monkeypatch.setattr(processor, "_set_here", False)
    monkeypatch.delenv(processor.ISA, raising=False)


# ---------------------------------------------------------------------- outcomes


def test_bf16_that_works_is_left_alone(machine):
    children = machine(Children(plain=RIGHT))
    processor.prepare()
    assert children.started == [None]
    assert processor.ISA not in os.environ
    assert processor.bf16_works()
    assert processor.describe() == "works"
    processor.require_bf16()


@pytest.mark.parametrize(
    "failure",
    [
        ILLEGAL,
        NO_PRIMITIVE,
        (-signal.SIGSEGV, b"loaded\n"),
        (3, b""),
        (0, b"\xff nonsense"),
        (0, b""),
        (-signal.SIGKILL, b"loaded\n"),
        subprocess.TimeoutExpired("python", 60),
        OSError("no more processes"),
    ],
)
def test_amx_is_kept_out_where_it_fails(machine, failure):
    children = machine(Children(plain=failure))
    processor.prepare()
    assert children.started == [None, processor.WITHOUT_AMX]
    assert os.environ[processor.ISA] == processor.WITHOUT_AMX
    assert processor.bf16_works()
    assert processor.describe() == (
        "works without AMX: ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 is set for torch"
    )
    assert len(children.started) == 2


@pytest.mark.parametrize("failure", [ILLEGAL, NO_PRIMITIVE, subprocess.TimeoutExpired("p", 60)])
def test_float32_where_bf16_fails_without_amx_too(machine, failure):
    machine(Children(plain=failure, without_amx=failure))
    processor.prepare()
    assert processor.ISA not in os.environ
    assert not processor.bf16_works()
    assert processor.describe() == "fails: float32 is used"
    with pytest.raises(ConfigError, match="'bf16' does not work on this CPU .*use 'float32'"):
        processor.require_bf16()


def test_a_torch_that_is_imported_already_gets_no_variable(machine, monkeypatch):
    children = machine(Children())
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    processor.prepare()
    assert children.started == []
    assert processor.ISA not in os.environ
    assert not processor.bf16_works()
    assert children.started == [None]


def test_a_torch_that_claims_bf16_is_tried_whatever_llvm_says(machine, monkeypatch):
    children = machine(Children())
    monkeypatch.setattr(processor, "host", lambda: ("x86-64", ()))
    cpu = SimpleNamespace(_is_avx512_bf16_supported=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cpu=cpu))
    assert not processor.bf16_works()
    assert children.started == [None]


def test_other_processors_start_no_child(machine, monkeypatch):
    children = machine(Children())
    monkeypatch.setattr(processor, "host", lambda: ("znver3", ("avx2", "fma")))
    processor.prepare()
    assert processor.bf16_works()
    assert processor.describe() == "not in this CPU: float32 is used"
    assert children.started == []


# ---------------------------------------------------------------------- what the user sets


@pytest.mark.parametrize("name", [processor.ISA, "DNNL_MAX_CPU_ISA"])
def test_the_users_own_variable_stays(machine, monkeypatch, name):
    children = machine(Children())
    children.endings["AVX512_CORE_AMX"] = ILLEGAL
    monkeypatch.setenv(name, "AVX512_CORE_AMX")
    processor.prepare()
    assert len(children.started) == 1
    assert os.environ[name] == "AVX512_CORE_AMX"
    assert {processor.ISA, "DNNL_MAX_CPU_ISA"} & os.environ.keys() == {name}
    assert not processor.bf16_works()


def test_a_variable_of_the_user_that_helps(machine, monkeypatch):
    children = machine(Children())
    monkeypatch.setenv(processor.ISA, processor.WITHOUT_AMX)
    processor.prepare()
    assert children.started == [processor.WITHOUT_AMX]
    assert processor.describe() == "works"


@pytest.mark.parametrize(("setting", "works"), [("on", True), ("off", False)])
def test_the_trial_can_be_skipped(machine, monkeypatch, setting, works):
    children = machine(Children())
    monkeypatch.setenv(processor.SETTING, setting)
    processor.prepare()
    assert processor.bf16_works() == works
    assert processor.describe() == f"{setting}, by MULTITUDES_BF16"
    assert children.started == []
    assert processor.ISA not in os.environ


def test_off_refuses_bf16_and_says_why(machine, monkeypatch):
    monkeypatch.setenv(processor.SETTING, "off")
    with pytest.raises(ConfigError, match="MULTITUDES_BF16=off"):
        processor.require_bf16()


def test_an_unknown_setting_is_refused(machine, monkeypatch):
    monkeypatch.setenv(processor.SETTING, "maybe")
    with pytest.raises(ConfigError, match="MULTITUDES_BF16 must be one of .*'off'.* got 'maybe'"):
        processor.prepare()


# ---------------------------------------------------------------------- memory


def test_outcomes_are_remembered_for_the_next_process(machine, monkeypatch, tmp_path):
    machine(Children())
    processor.prepare()
    outcomes = [json.loads(path.read_text()) for path in tmp_path.iterdir()]
    assert sorted(outcome["works"] for outcome in outcomes) == [False, True]
    assert {outcome["processor"] for outcome in outcomes} == {"sapphirerapids"}
    forget(monkeypatch)
    children = machine(Children())
    processor.prepare()
    assert children.started == []
    assert os.environ[processor.ISA] == processor.WITHOUT_AMX


def test_another_machine_or_torch_is_tried_anew(machine, monkeypatch):
    children = machine(Children(plain=RIGHT))
    assert processor.bf16_works()
    for change in (
        lambda: monkeypatch.setattr(processor, "host", lambda: ("graniterapids", AMX[1])),
        lambda: monkeypatch.setattr(processor.metadata, "version", lambda name: "9.9"),
        lambda: monkeypatch.setattr(processor.platform, "release", lambda: "another kernel"),
    ):
        change()
        children.started.clear()
        assert processor.bf16_works()
        assert children.started == [None]


@pytest.mark.parametrize("damage", ["", "{", "[1]", "null", '{"works": "yes"}', "\x00"])
def test_a_damaged_memory_is_tried_anew_and_mended(machine, monkeypatch, tmp_path, damage):
    machine(Children(plain=RIGHT))
    assert processor.bf16_works()
    (path,) = tmp_path.iterdir()
    path.write_text(damage)
    forget(monkeypatch)
    children = machine(Children(plain=RIGHT))
    assert processor.bf16_works()
    assert children.started == [None]
    assert json.loads(path.read_text())["works"] is True


@pytest.mark.parametrize(
    "accident",
    [subprocess.TimeoutExpired("python", 60), (-signal.SIGKILL, b"loaded\n"), (1, b"")],
)
def test_what_says_nothing_of_the_processor_is_not_remembered(machine, tmp_path, accident):
    children = machine(Children(plain=accident))
    assert not processor.bf16_works()
    assert not processor.bf16_works()
    assert children.started == [None]  # but this process waits once only
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["none", "a file"])
def test_without_a_place_to_write_each_process_tries(machine, monkeypatch, tmp_path, place):
    file = tmp_path / "file"
    file.write_text("")
    folder = None if place == "none" else file / "below"
    monkeypatch.setattr(processor, "cache_folder", lambda: folder)
    children = machine(Children(plain=RIGHT))
    assert processor.bf16_works()
    forget(monkeypatch)
    assert processor.bf16_works()
    assert children.started == [None, None]


def test_without_a_python_to_start_there_is_no_trial(machine, monkeypatch):
    children = machine(Children(plain=RIGHT))
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not processor.bf16_works()
    assert children.started == []


def test_memory_lies_in_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MULTITUDES_CACHE", str(tmp_path))
    assert processor._memory("bf16.json") == tmp_path / "bf16.json"


# ---------------------------------------------------------------------- real processes


def run(code, environment=None):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_real_child_tells_whether_bf16_works():
    pytest.importorskip("torch")
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default", processor.ISA: "AVX2"}
    assert processor._try(environment) is True  # without a doubtful instruction


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("print('loaded', flush=True); os.kill(os.getpid(), signal.SIGILL)", False),
        ("print('loaded'); raise RuntimeError('could not create a primitive')", False),
        ("os.kill(os.getpid(), signal.SIGILL)", None),
        ("import time; time.sleep(60)", None),
    ],
)
def test_real_children_that_fail(monkeypatch, ending, expected):
    monkeypatch.setattr(processor, "_TRIAL", f"import os, signal; {ending}")
    monkeypatch.setattr(processor, "SECONDS", 10 if expected is False else 2)
    assert processor._try(os.environ) is expected


# The failing child, and a finder that notes the variable at the moment when torch is imported.
PLAY = """
import os, signal, subprocess, sys, types
from llvmlite import binding
features = binding.get_host_cpu_features()
features.update({"avx512bf16": True, "amx-tile": True})
binding.get_host_cpu_features = lambda: features
os.environ.pop("ONEDNN_MAX_CPU_ISA", None), os.environ.pop("MULTITUDES_BF16", None)
really = subprocess.run
def run(command, *others, **options):
    if "trial()" not in str(command):
        return really(command, *others, **options)
    good = options["env"].get("ONEDNN_MAX_CPU_ISA") == "AVX512_CORE_BF16"
    printed = b"loaded done" if good else b"loaded"
    return types.SimpleNamespace(returncode=0 if good else -signal.SIGILL, stdout=printed)
subprocess.run = run
seen = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("torch.nn", "accelerate"):
            seen.append(os.environ.get("ONEDNN_MAX_CPU_ISA"))
sys.meta_path.insert(0, Watch())
"""
ENTRIES = [
    "import multitudes.encoder",
    "import multitudes.deep.texts.tokens",
    "import multitudes.seq2set",
    "import multitudes.deep.training",
    "import multitudes.deep.devices",
    "import multitudes.groups.miml",
    "from multitudes import Prime",
    "from multitudes import OTSeq2Set",
    "import multitudes; multitudes.Tagger('prime').check()",
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_variable_is_set_before_torch_is_imported(entry, tmp_path):
    pytest.importorskip("accelerate")
    environment = {**os.environ, "MULTITUDES_CACHE": str(tmp_path)}
    printed = run(f"{PLAY}\n{entry}\nassert 'torch' in sys.modules\nprint(set(seen))", environment)
    assert printed.strip() == "{'AVX512_CORE_BF16'}"


def test_every_module_with_torch_is_behind_the_trial():
    """In a package whose ``__init__`` begins with ``import multitudes.deep``."""
    root = Path(multitudes.__file__).parent
    imports = re.compile(r"^\s*(import|from) (torch|transformers|accelerate)\b", re.MULTILINE)
    hook = re.compile(r'\A"""[^"]*"""\n\nimport multitudes\.deep ')
    found = [path for path in root.rglob("*.py") if imports.search(path.read_text())]
    assert len(found) > 20
    for path in found:
        packages = [folder / "__init__.py" for folder in path.parents if root in folder.parents]
        guarded = any(hook.match(package.read_text()) for package in packages)
        assert guarded or root / "deep" in path.parents, path


def test_a_tagger_of_trees_starts_no_child(tmp_path):
    entry = "import multitudes; multitudes.Tagger('xr-linear').check()"
    environment = {**os.environ, "MULTITUDES_CACHE": str(tmp_path)}
    code = f"{PLAY}\n{entry}\nprint('multitudes.deep' in sys.modules, 'torch' in sys.modules)"
    assert run(code, environment).strip() == "False False"


def test_version_tells(tmp_path):
    environment = {**os.environ, "MULTITUDES_CACHE": str(tmp_path), "COLUMNS": "200"}
    code = f"{PLAY}\nfrom multitudes.cli import main\nmain(['version'])"
    assert "works without AMX: ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16" in run(code, environment)


def test_torch_was_not_imported_before_the_tests_were_prepared():
    """Else `prepare`, in the conftest of all tests, comes too late on such a machine."""
    code = "import sys, pytest, hypothesis; print('torch' in sys.modules)"
    assert run(code).strip() == "False"
