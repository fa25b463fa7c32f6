"""``python -m campaigns.differential.slow``: what takes seconds a case.

Networks, and models and metrics of libpecos, omikuji and napkinXC, each in an environment of its
own (``make peers``).
"""

from __future__ import annotations

import sys

from campaigns.differential import networks, peers
from campaigns.differential.comparing import Comparing
from campaigns.framework import main


class Slow(Comparing):
    """Networks answer texts alone as in a batch; other libraries answer as we do."""

    name = "differential.slow"
    functions = {**networks.TARGETS, **peers.TARGETS}
    targets = tuple(functions)
    batch = 20
    address_space = None  # peers run in processes of their own
    default_cases = 100

    def unavailable(self) -> dict[str, str]:
        return {**networks.unavailable(), **peers.unavailable()}


if __name__ == "__main__":
    sys.exit(main(Slow()))
