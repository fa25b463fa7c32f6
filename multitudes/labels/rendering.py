"""A label tree as indented text, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from multitudes.types import IntArray, LabelArray


def rendered_lines(
    offsets: Sequence[IntArray],
    slot_labels: LabelArray,
    label_names: Sequence[str] | None,
    *,
    last_level: int,
    max_children: int,
    cluster_name: Callable[[int, int], str] | None = None,
) -> Iterator[str]:
    """Yield a line per cluster, depth first, with a stack of (level, id) still to print.

    Parameters
    ----------
    offsets, slot_labels
        See `multitudes.labels.LabelTree`.
    label_names : sequence of str (n_labels,), optional
        Names to print; defaults to the ids.
    last_level : int
        Levels of clusters to print.
    max_children : int
        Children printed per cluster; the others are counted in a line of their own.
    cluster_name : function of (level, cluster) to str, optional
        What a cluster is about, printed behind its number.
    """
    stack = [(0, 0)]
    while stack:
        level, cluster = stack.pop()
        indent = "  " * level
        if cluster < 0:  # the line that counts what was cut, carried as minus the count
            yield f"{indent}... {-cluster} more"
            continue
        start, stop = offsets[level][cluster : cluster + 2].tolist()
        about = "" if cluster_name is None else cluster_name(level, cluster)
        about = f" [{about}]" if about else ""
        cut = max(0, stop - start - max_children)
        if level == len(offsets) - 1:
            labels = slot_labels[start : stop - cut].tolist()
            names = [str(i) if label_names is None else label_names[i] for i in labels]
            more = f" ... {cut} more" if cut else ""
            size = _count(stop - start, "label", "labels")
            contents = f": {', '.join(names)}{more}" if names else ""
            yield f"{indent}leaf {cluster}{about} ({size}){contents}"
        else:
            size = _count(stop - start, "child", "children")
            yield f"{indent}{'root' if level == 0 else f'cluster {cluster}'}{about} ({size})"
            if level + 1 < last_level:
                shown = [(level + 1, child) for child in range(start, stop - cut)]
                stack.extend(reversed([*shown, (level + 1, -cut)] if cut else shown))


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
