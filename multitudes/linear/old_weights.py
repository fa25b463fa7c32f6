"""Update weights without the instances they came from.

The old instances are gone, but they would still pull their rankers back. Around its optimum w0 an
objective looks like a parabola, ``1/2 sum_f h_f (w_f - w0_f)^2``, whose curvature h_f grows with
the number of old instances and with how often, and how strongly, they had feature f (elastic weight
consolidation, Kirkpatrick et al. 2017, makes the same approximation for networks). New instances
are learned against that parabola instead of against ``1/2 |w|^2``. Dividing the values of feature f
by sqrt(h_f), and multiplying its weight, turns this into the solver's own problem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from multitudes.linear.level_weights import Chunk, ends, join_parts
from multitudes.linear.tasks import SolverConfig, Task
from multitudes.types import FloatArray, IntArray

# Share of the old instances that are on the sloping side of the loss and so have a say.
SHARE_WITH_A_SAY = 0.5


class OldWeights(NamedTuple):
    """A cluster's weights, and the number of instances behind them."""

    chunk: Chunk
    seen: int


def hold(
    w: FloatArray,
    begin: IntArray,
    finish: IntArray,
    local: npt.NDArray[np.int32],
    value: FloatArray,
    square: FloatArray,
    features: npt.NDArray[np.int32],
    start: OldWeights,
    task: Task,
    solver: SolverConfig,
) -> FloatArray:
    """Put the old weights into w, and rescale values and weights so that w is held to them.

    Parameters
    ----------
    w : float32 array (n_blocks, (n_local + 1) * width)
        OUT: old weights, times the square root of the curvature.
    begin, finish, local, value, square
        The cluster's new instances, as `prepare_rows` gathered them; `value` and `square` are
        rescaled in place.

    Returns
    -------
    float32 array (n_local + 1,)
        Square roots of the curvatures; the last is the constant feature's.
    """
    n_local, n_rows = len(features), len(begin)
    used = int(finish[-1]) if n_rows else 0
    moment = np.bincount(local[:used], value[:used] ** 2, minlength=n_local) / max(n_rows, 1)
    moment = np.append(moment, float(solver.bias) ** 2)
    pull = 2 * solver.cost * SHARE_WITH_A_SAY * start.seen
    firmness = np.sqrt(1 + pull * moment).astype(np.float32)
    value[:used] /= firmness[local[:used]]
    lengths = finish - begin
    square[:] = (solver.bias / firmness[-1]) ** 2
    filled = np.flatnonzero(lengths)
    if len(filled):
        square[filled] += np.add.reduceat(value[:used] ** 2, begin[filled])
    fill_start(w, features, start.chunk, task, solver)
    w *= np.repeat(firmness, w.shape[1] // (n_local + 1))
    return firmness


def fill_start(
    w: FloatArray,
    features: npt.NDArray[np.int32],
    start: Chunk,
    task: Task,
    solver: SolverConfig,
) -> None:
    """Write the old weights of the children of a task into w."""
    n_local = len(features)
    width = w.shape[1] // (n_local + 1)
    order = np.argsort(features)
    feature = np.repeat(start.row_feature, np.diff(start.row_entry))
    place = np.minimum(np.searchsorted(features, feature, sorter=order), max(n_local - 1, 0))
    child = start.entry_child.astype(np.int64) - task.from_child
    inside = (child >= 0) & (child < task.to_child - task.from_child)
    if n_local:
        inside &= features[order[place]] == feature
        at = order[place][inside] * width + child[inside] % width
        w[child[inside] // width, at] = start.entry_value[inside]
    if solver.bias:
        own = np.arange(task.to_child - task.from_child)
        bias = start.bias[task.from_child : task.to_child] / np.float32(solver.bias)
        w[own // width, n_local * width + own % width] = bias


def with_untouched(chunk: Chunk, old: Chunk, features: npt.NDArray[np.int32], task: Task) -> Chunk:
    """Return a retrained chunk with the old weights of the features that training did not see."""
    row = np.repeat(np.arange(len(old.row_feature)), np.diff(old.row_entry))
    feature = old.row_feature[row]
    child = old.entry_child.astype(np.int32)
    kept = ~np.isin(feature, features) & (child >= task.from_child) & (child < task.to_child)
    row_feature, counts = np.unique(feature[kept], return_counts=True)
    no_children = np.zeros(0, np.float32)
    untouched = Chunk(row_feature, ends(counts), child[kept], old.entry_value[kept], no_children)
    return join_parts([chunk, untouched])
