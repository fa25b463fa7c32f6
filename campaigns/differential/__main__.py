"""``python -m campaigns.differential``: random problems against brute force and scikit-learn."""

from __future__ import annotations

import sys

from campaigns.differential import reference, trees
from campaigns.differential.comparing import Comparing
from campaigns.framework import main


class Differential(Comparing):
    """Every model answers what brute force and scikit-learn answer, up to rounding."""

    name = "differential"
    functions = {**trees.TARGETS, **reference.TARGETS}
    targets = tuple(functions)
    batch = 200


if __name__ == "__main__":
    sys.exit(main(Differential()))
