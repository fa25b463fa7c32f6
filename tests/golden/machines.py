"""Answers of machines that this one can play: processors with fewer and narrower instructions.

::

    python -m tests.golden.machines                 # all machines, all models
    python -m tests.golden.machines plain haswell   # some of them

Each runs in a process of its own: numba compiles for another processor, and BLAS and torch are told
to take other kernels. On a machine of another kind, ``this`` compares it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.answers import ANSWERS, KEPT, differences

ROOT = Path(__file__).resolve().parents[2]

# On x86-64; each is a part of what a processor of the last ten years can do.
MACHINES: dict[str, dict[str, str]] = {
    # What every 64-bit processor has: SSE2, no fused multiply-add.
    "plain": {
        "NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default", "DNNL_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
    },
    # SSE4.2, of 2008.
    "nehalem": {
        "NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": "Nehalem",
        "ATEN_CPU_CAPABILITY": "default", "DNNL_MAX_CPU_ISA": "SSE41",
    },
    # AVX2 and FMA, of 2013; most desktops.
    "haswell": {
        "NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+f16c,+fma",
        "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2", "DNNL_MAX_CPU_ISA": "AVX2",
    },
    # AVX-512; only where the processor has it.
    "skylake": {
        "NUMBA_CPU_NAME": "skylake-avx512", "NUMBA_CPU_FEATURES": "+f16c,+fma",
        "OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512",
        "DNNL_MAX_CPU_ISA": "AVX512_CORE",
    },
    # This one as it is, AMX included if it has that.
    "this": {},
}  # fmt: skip


def missing(machine: str) -> str | None:
    """Why a machine cannot be played here, or None if it can."""
    if machine == "this":
        return None
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return f"this is a {platform.machine()}, and {machine} an x86-64"
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    needed = {"haswell": "avx2", "skylake": "avx512f"}.get(machine)
    return None if needed is None or has.get(needed) else f"this processor has no {needed}"


def answers_of(machine: str, names: list[str], cache: Path) -> dict[str, Any]:
    """Answers of a machine, in a process of its own."""
    settings: Mapping[str, str] = {**MACHINES[machine], "NUMBA_CACHE_DIR": str(cache)}
    settings = {} if machine == "this" else settings
    command = [sys.executable, "-m", "tests.golden.answers", *names]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{machine}: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(wanted: list[str]) -> int:
    """Print what each machine answers otherwise; 1 if that is beyond the tolerance."""
    kept, failed, say = json.loads(KEPT.read_text(encoding="utf-8")), 0, sys.stdout.write
    with tempfile.TemporaryDirectory() as cache:
        for machine in wanted or MACHINES:
            reason = missing(machine)
            if reason is not None:
                say(f"{machine}: skipped, {reason}\n")
                continue
            found = answers_of(machine, list(ANSWERS), Path(cache))
            for name in ANSWERS:
                wrong = differences(name, found[name], kept[name])
                failed += bool(wrong)
                say(
                    f"{machine}: {name}: {found[name]['digest']} {'; '.join(wrong) or 'the same'}\n"
                )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
