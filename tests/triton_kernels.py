"""Checks of Triton kernels that need no GPU: run in Triton's interpreter, compiled for a device."""

import os
import subprocess
import sys


def run_interpreted(check: str) -> None:
    """Run Python code in a process of its own; kernels must be imported there."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", check],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def compile_for_a_gpu(kernel, types, constants, *, n_warps=4) -> None:
    """Compile for an H100: the interpreter forgives what the compiler does not."""
    import triton
    from triton.backends.compiler import GPUTarget

    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    source = triton.compiler.ASTSource(fn=kernel, signature=signature, constexprs=constants)
    compiled = triton.compile(
        source, target=GPUTarget("cuda", 90, 32), options={"num_warps": n_warps}
    )
    assert compiled.asm["cubin"]
