"""Too little memory on a device, in words that say what to lower."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from multitudes.errors import ResourceError

NOT_ON_CPU = "can't allocate memory"  # the CPU's allocator has no error class of its own


@contextmanager
def explain_out_of_memory(
    *,
    lower: Sequence[str],
    enable: Sequence[str] = (),
    during: Callable[[], str] | None = None,
) -> Iterator[None]:
    """Turn torch's out-of-memory errors into a ResourceError.

    Parameters
    ----------
    lower : sequence of str
        Settings that save memory when they are lowered, the most effective first.
    enable : sequence of str
        Settings that save memory when they are switched on.
    during : function, optional
        Says what was being done, e.g. "training (epoch 1 of 3)"; called only after an error.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _out_of_memory(f"the GPU{_usage()}", error, lower, enable, during) from error
    except RuntimeError as error:
        if NOT_ON_CPU not in str(error):
            raise
        raise _out_of_memory("the CPU", error, lower, enable, during) from error


def _out_of_memory(
    device: str,
    error: RuntimeError,
    lower: Sequence[str],
    enable: Sequence[str],
    during: Callable[[], str] | None,
) -> ResourceError:
    advice = f"lower {' or '.join(lower)}"
    if enable:
        advice += f", or switch on {' or '.join(enable)}"
    work = "" if during is None else f" during {during()}"
    return ResourceError(
        f"{device} ran out of memory{work}: {advice}; torch says: {str(error).splitlines()[0]}"
    )


def _usage() -> str:
    """How full the current GPU is."""
    if not torch.cuda.is_available():
        return ""
    free, total = torch.cuda.mem_get_info()
    peak = torch.cuda.max_memory_allocated()
    return (
        f" ({total / 2**30:.1f} GiB, of which this process held up to {peak / 2**30:.1f} "
        f"and {free / 2**30:.1f} are free)"
    )
