"""Whether this processor really computes in bfloat16, found out by trying it.

A processor may claim instructions that its hypervisor does not allow: oneDNN then picks AMX for a
bfloat16 product, and the process dies of an illegal instruction, or every later product of it fails
with "could not create a primitive". So a child process tries a few products, once per machine and
version of torch; the answer is kept in the user's cache folder. Where the products fail, AMX is
kept out with a variable of oneDNN that must be set before torch is imported, and where that does
not help, float32 is used. Nothing here imports torch, except in the child.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from multitudes.errors import ConfigError
from multitudes.files.cache import cache_folder
from multitudes.files.lease import HeldError
from multitudes.files.writing import replaced_file

SETTING = "MULTITUDES_BF16"
SETTINGS = ("auto", "on", "off")
ISA = "ONEDNN_MAX_CPU_ISA"
WITHOUT_AMX = "AVX512_CORE_BF16"
PRECISIONS = ("auto", "float32", "bf16", "int8")
SECONDS = 60  # for one trial: importing torch from a cold disk takes longer than its products

# What the outcome of a trial depends on, beside the machine and torch.
_VARIABLES = (
    ISA,
    "DNNL_MAX_CPU_ISA",  # the older name of the same
    "ONEDNN_CPU_ISA_HINTS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ATEN_CPU_CAPABILITY",
    "MKL_ENABLE_INSTRUCTIONS",
)
_TRIAL = "from multitudes.deep.processor import trial; trial()"
_LOADED, _DONE = "loaded", "done"  # what the child prints

_known: dict[str, bool] = {}  # outcomes by environment, for this process
_set_here = False  # whether `prepare` set the variable


def prepare() -> None:
    """Keep AMX out of torch if bfloat16 fails with it and works without it.

    Has no effect once torch is imported, or if the user has set the variable; costs nothing on a
    processor that does not claim bfloat16.
    """
    global _set_here
    if "torch" in sys.modules or _setting() != "auto" or not _has_torch() or not claims_bf16():
        return
    if _works(os.environ):
        return
    if not {ISA, "DNNL_MAX_CPU_ISA"} & os.environ.keys():
        _set_here = _works({**os.environ, ISA: WITHOUT_AMX})
        if _set_here:
            os.environ[ISA] = WITHOUT_AMX


def bf16_works() -> bool:
    """Whether torch can be trusted with bfloat16 on this CPU; slow is not the question here."""
    setting = _setting()
    if setting != "auto":
        return setting == "on"
    return not claims_bf16() or _works(os.environ)


def require_bf16() -> None:
    """Refuse bfloat16 on a CPU where it would end the process."""
    if not bf16_works():
        why = f"{SETTING}=off" if _setting() == "off" else "a trial in a process of its own failed"
        raise ConfigError(
            f"precision='bf16' does not work on this CPU ({why}): use 'float32' or 'auto', or set "
            f"{ISA}={WITHOUT_AMX} before Python starts"
        )


def checked_precision(precision: str) -> str:
    """The number format of a prediction, if it is one of those."""
    if precision not in PRECISIONS:
        raise ConfigError(f"precision must be one of {list(PRECISIONS)}, got {precision!r}")
    return precision


def describe() -> str | None:
    """How bfloat16 fares on this CPU, for bug reports; None without torch."""
    if not _has_torch():
        return None
    setting = _setting()
    if setting != "auto":
        return f"{setting}, by {SETTING}"
    if not claims_bf16():
        return "not in this CPU: float32 is used"
    if _set_here:
        return f"works without AMX: {ISA}={WITHOUT_AMX} is set for torch"
    return "works" if bf16_works() else "fails: float32 is used"


def _setting() -> str:
    setting = os.environ.get(SETTING, "auto")
    if setting not in SETTINGS:
        raise ConfigError(f"{SETTING} must be one of {list(SETTINGS)}, got {setting!r}")
    return setting


# ---------------------------------------------------------------------- the machine


def _has_torch() -> bool:
    try:
        return "torch" in sys.modules or find_spec("torch") is not None
    except ImportError:
        return False


def claims_bf16() -> bool:
    """Whether the processor, or a torch that is already imported, says that it has bfloat16."""
    has = getattr(getattr(sys.modules.get("torch"), "cpu", None), "_is_avx512_bf16_supported", None)
    if has is not None and has():
        return True
    return any(name == "avx512bf16" or name.startswith("amx-") for name in host()[1])


@cache
def host() -> tuple[str, tuple[str, ...]]:
    """The name of the processor and its instruction sets, as LLVM reads them."""
    from llvmlite import binding

    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know how to ask this kind of processor
        return platform.machine(), ()
    return binding.get_host_cpu_name(), tuple(sorted(n for n, has in features.items() if has))


def _identity(environment: Mapping[str, str]) -> dict[str, Any]:
    """All that the outcome of a trial depends on."""
    name, features = host()
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        version = "unknown"
    return {
        "processor": name,
        "features": " ".join(features),
        "system": [platform.system(), platform.release(), platform.version()],
        "torch": version,
        "environment": {n: environment[n] for n in _VARIABLES if n in environment},
    }


# ---------------------------------------------------------------------- trials


def _works(environment: Mapping[str, str]) -> bool:
    """Whether bfloat16 works in a process with this environment: remembered, or tried now."""
    identity = _identity(environment)
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    if key not in _known:
        path = _memory(f"bf16-{key}.json")
        outcome = None if path is None else _recall(path)
        if outcome is None:
            outcome = _try(environment)
            if outcome is not None and path is not None:
                _remember(path, {**identity, "works": outcome})
        _known[key] = outcome is True
    return _known[key]


def _try(environment: Mapping[str, str]) -> bool | None:
    """Run the trial in a child process.

    Returns
    -------
    True if it came to its end, False if products failed, and None if it says nothing of the
    processor: too slow, killed from outside, or not even torch was loaded.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        return None  # there is no Python to start
    places = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", _TRIAL],
            env={**environment, SETTING: "on", "PYTHONPATH": places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    printed = child.stdout.decode(errors="replace").split()
    if child.returncode == 0 and printed[-1:] == [_DONE]:
        return True
    killed = child.returncode == -getattr(signal, "SIGKILL", 9)
    return False if _LOADED in printed and not killed else None


def trial() -> None:
    """Products in bfloat16 as the networks need them, then in float32; run by a child process."""
    with suppress(ImportError, ValueError, OSError):  # an illegal instruction leaves no core dump
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import torch
    from torch.nn import functional

    print(_LOADED, flush=True)  # noqa: T201  to the parent process

    def check(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 0.1) -> None:
        torch.testing.assert_close(found.float(), expected, atol=tolerance, rtol=tolerance)

    torch.manual_seed(0)
    # oneDNN chooses by shape: single rows, odd and even sizes, layers of small and usual encoders.
    for rows, n_in, n_out in ((1, 384, 384), (7, 33, 5), (20, 32, 128), (64, 384, 1536)):
        layer, X = torch.nn.Linear(n_in, n_out), torch.randn(rows, n_in)
        expected = layer(X).detach()
        with torch.autocast("cpu", torch.bfloat16):
            found = layer(X)
        found.sum().backward()
        check(found.detach(), expected)
        with torch.inference_mode():
            check(layer.bfloat16()(X.bfloat16()), expected)
    with torch.inference_mode():
        query, key, value = torch.randn(3, 2, 4, 40, 32).unbind()
        near = query.bfloat16(), key.bfloat16(), value.bfloat16()
        check(near[0] @ near[1].mT, query @ key.mT, 0.3)  # sums of 32 products
        attend = functional.scaled_dot_product_attention
        check(attend(near[0], near[1], near[2]), attend(query, key, value))
        # Once a primitive could not be created, float32 fails in the same process too.
        X, Y = torch.randn(64, 384), torch.randn(384, 64)
        check(X @ Y, (X.double() @ Y.double()).float(), 1e-3)
    print(_DONE, flush=True)  # noqa: T201


# ---------------------------------------------------------------------- memory


def _memory(name: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / name


def _recall(path: Path) -> bool | None:
    """What was remembered; None if nothing was, or it cannot be read."""
    try:
        works = json.loads(path.read_text())["works"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return works if isinstance(works, bool) else None


def _remember(path: Path, outcome: dict[str, Any]) -> None:
    """Write in one step; where nothing can be written, the next process tries again."""
    with suppress(OSError, HeldError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(path) as file:
            file.write(json.dumps(outcome, indent=1).encode())
