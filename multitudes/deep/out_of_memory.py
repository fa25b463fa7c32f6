"""A GPU that runs out of memory, in words that say what to lower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from multitudes.errors import ResourceError


@contextmanager
def explain_out_of_memory(*, lower: Sequence[str], enable: Sequence[str] = ()) -> Iterator[None]:
    """Turn torch's out-of-memory error into a ResourceError.

    Parameters
    ----------
    lower : sequence of str
        Settings that save memory when they are lowered, the most effective first.
    enable : sequence of str
        Settings that save memory when they are switched on.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        advice = f"lower {' or '.join(lower)}"
        if enable:
            advice += f", or switch on {' or '.join(enable)}"
        raise ResourceError(f"the GPU ran out of memory{_usage()}: {advice}") from error


def _usage() -> str:
    """How full the current GPU is, where there is one."""
    if not torch.cuda.is_available():
        return ""
    free, total = torch.cuda.mem_get_info()
    used = torch.cuda.memory_allocated()
    return (
        f" ({total / 2**30:.1f} GiB, of which this process holds {used / 2**30:.1f} "
        f"and {free / 2**30:.1f} are free)"
    )
