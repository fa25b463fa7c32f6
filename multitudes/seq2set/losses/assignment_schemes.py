"""Which steps the labels of an instance may be matched to, and how to choose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, DataError
from multitudes.validation.arrays import REAL, as_array

ALL = "all"
FIRST_N = "first-n"
AUTO = "auto"
SCHEMES = (ALL, FIRST_N)

NEARLY_EQUAL = 0.05
"""How far from a half a share may be for the two shares to count as nearly equal."""

FEW_LABELS = 0.2
"""The average number of labels over the largest, below which most steps are empty for most."""


@dataclass(frozen=True)
class SchemeChoice:
    """A scheme, and in words why.

    Parameters
    ----------
    scheme : str
        "all" or "first-n".
    reason : str
        One sentence with the numbers it rests on.
    """

    scheme: str
    reason: str


def choose_scheme(
    label_counts: npt.NDArray[np.integer] | list[int], *, scheme: str = AUTO
) -> SchemeChoice:
    """The scheme to train with, from the numbers of labels of the training instances.

    Parameters
    ----------
    label_counts : int array (n_instances,)
        Labels of each training instance.
    scheme : str
        "all", "first-n", or "auto" to choose.

    Notes
    -----
    OTSeq2Set, section 3.6: what counts is the share of instances with more labels than the average.
    Its two sentences on that contradict each other; the second, and both data sets with unequal
    shares, say: more than half, `all` is better (Amazon-670K: 5.45 labels on average, 7 at most);
    less, `first-n` (AmazonCat-13K: 5.04 on average, 57 at most). Where the shares are nearly
    equal the paper gives no rule. In its Table 5 `all` is a little better on both such sets
    (Eurlex-4K: 5.3 on average, 24 at most; Wiki10-31K: 18.6 and 30); on llms4subjects-gnd (2.9 and
    27), where nearly all steps are empty, `first-n` is far better: see docs/seq2set.md. So it is
    `first-n` where the average is less than a fifth of the largest number, else `all`.
    """
    if scheme in SCHEMES:
        return SchemeChoice(scheme, f"assignment scheme {scheme!r}, as set")
    if scheme != AUTO:
        raise ConfigError(f"scheme must be one of {[*SCHEMES, AUTO]}, got {scheme!r}")
    counts = as_array(label_counts)
    if counts is None or counts.ndim != 1 or not len(counts) or counts.dtype.kind not in REAL:
        got = "something else" if counts is None else f"{counts.dtype} of shape {counts.shape}"
        raise DataError(
            f"label_counts must have one number per training instance, got {got}: "
            "choosing an assignment scheme takes at least one instance"
        )
    average = float(counts.mean())
    above = float((counts > average).mean())
    low, high = 0.5 - NEARLY_EQUAL, 0.5 + NEARLY_EQUAL
    few = average < FEW_LABELS * counts.max()
    if above < low:
        chosen, why = FIRST_N, f"which is less than {low:.0%}"
    elif above > high:
        chosen, why = ALL, f"which is more than {high:.0%}"
    else:
        chosen = FIRST_N if few else ALL
        why = (
            f"about half of them; the average is {'less' if few else 'not less'} than "
            f"{FEW_LABELS:.0%} of the largest number, {counts.max()}"
        )
    return SchemeChoice(
        chosen,
        f"assignment scheme {chosen!r}: {above:.1%} of the instances have more labels than the "
        f"average of {average:.2f}, {why}",
    )
