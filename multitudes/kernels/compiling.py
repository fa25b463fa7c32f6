"""How kernels are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

# For functions that only other kernels call. Without the wrapper that makes them callable from
# Python they compile faster, the more so the more arrays they take.
_options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner: Any = njit(nogil=True, cache=True, **_options)
