"""A `LabelTree` as indented text, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from multitudes.errors import ConfigError, DataError

if TYPE_CHECKING:
    from multitudes.labels.tree import LabelTree


def render_tree(
    tree: LabelTree,
    label_names: Sequence[str] | None = None,
    *,
    max_depth: int | None = None,
    max_children: int = 10,
) -> str:
    """The tree as indented text.

    Parameters
    ----------
    label_names : sequence of str (n_labels,), optional
        Names to print; the ids where absent.
    max_depth : int, optional
        Levels of clusters to print; all by default.
    max_children : int
        Children printed per cluster; the others are counted in a line of their own.
    """
    if label_names is not None and len(label_names) != tree.n_labels:
        raise DataError(
            f"label_names must have one entry per label ({tree.n_labels}), got {len(label_names)}"
        )
    if max_children < 1 or (max_depth is not None and max_depth < 1):
        raise ConfigError(
            "max_children and max_depth must be >= 1, "
            f"got max_children={max_children} and max_depth={max_depth}"
        )
    last_level = tree.depth if max_depth is None else min(max_depth, tree.depth)
    return "\n".join(_lines(tree, label_names, last_level, max_children))


def _lines(
    tree: LabelTree, label_names: Sequence[str] | None, last_level: int, max_children: int
) -> Iterator[str]:
    """Depth first over clusters, with a stack of (level, id) still to print."""
    stack = [(0, 0)]
    while stack:
        level, cluster = stack.pop()
        indent = "  " * level
        if cluster < 0:  # the line that counts what was cut, carried as minus the count
            yield f"{indent}... {-cluster} more"
            continue
        start, stop = tree.offsets[level][cluster : cluster + 2].tolist()
        cut = max(0, stop - start - max_children)
        if level == tree.depth - 1:
            labels = tree.slot_labels[start : stop - cut].tolist()
            names = [str(i) if label_names is None else label_names[i] for i in labels]
            more = f" ... {cut} more" if cut else ""
            size = _count(stop - start, "label", "labels")
            contents = f": {', '.join(names)}{more}" if names else ""
            yield f"{indent}leaf {cluster} ({size}){contents}"
        else:
            size = _count(stop - start, "child", "children")
            yield f"{indent}{'root' if level == 0 else f'cluster {cluster}'} ({size})"
            if level + 1 < last_level:
                shown = [(level + 1, child) for child in range(start, stop - cut)]
                stack.extend(reversed([*shown, (level + 1, -cut)] if cut else shown))


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
