"""The picture of the home page: ``python docs/figures/home.py`` writes home.svg beside it.

What it shows is computed: a tagger is trained on the generated catalogue, and the picture has its
label tree, the ways that lead to the best labels of one text, and their scores. Colors follow the
reader's choice of light or dark.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from pathlib import Path

from multitudes import Tagger, XRLinear
from multitudes.data import make_catalogue

TEXT = "Finest hand-blown champagne flute, from Porto"
N_INSTANCES, N_LABELS = 5_000, 400
SHOWN = 4
WIDTH, HEIGHT = 920, 340
COLUMNS = (300, 430, 560)  # where the levels of the tree stand
LABELS = 640
STYLE = """
  text { font: 15px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1c2333; }
  .small { font-size: 12.5px; fill: #5b6478; }
  .word { font-size: 17px; }
  .box { fill: #f3f4fb; stroke: #c9cde6; }
  .edge { stroke: #cfd3e6; stroke-width: 1; fill: none; }
  .node { fill: #cfd3e6; }
  .way { stroke: #3f51b5; stroke-width: 2.2; fill: none; }
  .met { fill: #3f51b5; }
  .bar { fill: #3f51b5; }
  .rest { fill: #e4e6f3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e8f2; }
    .small { fill: #a4abc2; }
    .box { fill: #262b3d; stroke: #464d6b; }
    .edge { stroke: #3d4460; }
    .node { fill: #4a5275; }
    .way { stroke: #9fa8ff; }
    .met, .bar { fill: #9fa8ff; }
    .rest { fill: #333a54; }
  }
"""


def height(place: int, n: int) -> float:
    """The middle of the given one of n things in a column."""
    return 34 + (HEIGHT - 62) * (place + 0.5) / n


def tree(tagger: Tagger, ways: list[list[int]]) -> list[str]:
    """Clusters and their edges, level by level; those on a way to a shown label stand out."""
    model = tagger.model_
    assert isinstance(model, XRLinear)
    offsets = model.tree_.offsets
    sizes = [len(level) - 1 for level in offsets]
    places = [[(COLUMNS[level], height(c, n)) for c in range(n)] for level, n in enumerate(sizes)]
    met = [{way[level] for way in ways} for level in range(len(sizes))]
    faint, strong = [], []
    for level in range(len(sizes) - 1):
        for cluster, (first, last) in enumerate(pairwise(offsets[level].tolist())):
            for child in range(first, last):
                is_way = cluster in met[level] and child in met[level + 1]
                drawn = edge(places[level][cluster], places[level + 1][child], is_way=is_way)
                (strong if is_way else faint).append(drawn)
    for level, column in enumerate(places):
        for cluster, (x, y) in enumerate(column):
            is_met = cluster in met[level]
            dot = f'<circle class="{"met" if is_met else "node"}" cx="{x}" cy="{y:.1f}" '
            (strong if is_met else faint).append(f'{dot}r="{(9, 6.5, 3.6)[level]}"/>')
    return faint + strong


def edge(start: tuple[float, float], end: tuple[float, float], *, is_way: bool) -> str:
    """A curve from one place to another."""
    (x, y), (to_x, to_y) = start, end
    middle = (x + to_x) / 2
    curve = f"M{x},{y:.1f} C{middle},{y:.1f} {middle},{to_y:.1f} {to_x},{to_y:.1f}"
    return f'<path class="{"way" if is_way else "edge"}" d="{curve}"/>'


def labels(found: list[tuple[str, float]], leaves: list[int], n_leaves: int) -> list[str]:
    """Names and scores, each with an edge from its leaf."""
    drawn = []
    for rank, ((name, score), leaf) in enumerate(zip(found, leaves, strict=True)):
        y = height(rank, SHOWN)
        drawn.append(edge((COLUMNS[2], height(leaf, n_leaves)), (LABELS - 10, y), is_way=True))
        drawn.append(f'<text x="{LABELS}" y="{y - 4:.1f}">{escape(name)}</text>')
        drawn.append(
            f'<rect class="rest" x="{LABELS}" y="{y + 4:.1f}" width="220" height="9" rx="4.5"/>'
            f'<rect class="bar" x="{LABELS}" y="{y + 4:.1f}" width="{220 * score:.1f}" height="9" '
            f'rx="4.5"/><text class="small" x="{LABELS + 232}" y="{y + 13:.1f}">{score:.2f}</text>'
        )
    return drawn


def text_box() -> list[str]:
    """The text, and the edge that leads from it to the root."""
    lines = ["Finest hand-blown", "champagne flute,", "from Porto"]
    assert " ".join(lines) == TEXT
    middle = height(0, 1)
    drawn = [f'<rect class="box" x="16" y="{middle - 58:.1f}" width="212" height="116" rx="12"/>']
    for row, line in enumerate(lines):
        drawn.append(f'<text class="word" x="34" y="{middle - 20 + 27 * row:.1f}">{line}</text>')
    drawn.append(edge((228, middle), (COLUMNS[0] - 12, middle), is_way=True))
    return drawn


def picture() -> str:
    """Train, and draw."""
    data = make_catalogue(N_INSTANCES, n_labels=N_LABELS).dataset
    settings = {"branching": 6, "max_leaf_size": 16}
    tagger = Tagger("xr-linear", settings=settings).fit(data)
    best = tagger.predict([TEXT], top_k=SHOWN)[0]
    steps = [tagger.explain(TEXT, tag.label).steps for tag in best]
    ways = [[step.cluster for step in path] for path in steps]
    n_leaves = len(tagger.model_.tree_.offsets[-1]) - 1
    captions = (
        (122, "a text"), (430, f"a tree of {N_LABELS} labels"), (750, "labels, with scores")
    )  # fmt: skip
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="A text is led down a tree of labels to the few that fit">',
        f"<style>{STYLE}</style>",
        *tree(tagger, ways),
        *labels([(t.label, t.score) for t in best], [way[-1] for way in ways], n_leaves),
        *text_box(),
        *(
            f'<text class="small" text-anchor="middle" x="{x}" y="{HEIGHT - 8}">{caption}</text>'
            for x, caption in captions
        ),
        "</svg>\n",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    (Path(__file__).parent / "home.svg").write_text(picture(), encoding="utf-8")
