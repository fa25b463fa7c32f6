"""Whether the lock is for this platform and this Python; needs nothing but Python itself.

Run as a program, it ends with 0 if so and with 1 if not.
"""

from __future__ import annotations

import platform
import sys

MADE_FOR = ("Linux", "x86_64", (3, 11))


def fits_here() -> bool:
    """Whether the lock can be installed here."""
    return (platform.system(), platform.machine(), sys.version_info[:2]) == MADE_FOR


if __name__ == "__main__":
    sys.exit(not fits_here())
