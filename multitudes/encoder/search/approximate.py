"""IndexConfig, and candidates from faiss: HNSW graphs, inverted lists with product quantization.

Both keep their state in plain arrays, not in faiss' own file format: what a model folder brings
along is checked before faiss, which trusts its input, sees it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from multitudes.config import Config, setting
from multitudes.errors import ConfigError, StoreError, require
from multitudes.kernels.checking import readonly
from multitudes.kernels.search.graph_checks import SOUND, first_loose_link
from multitudes.store import State, checks
from multitudes.types import FloatArray, IntArray

AUTO, FLAT, HNSW, IVF_PQ = "auto", "flat", "hnsw", "ivf-pq"

Arrays = dict[str, npt.NDArray[Any]]

FEWEST_FOR_CODES = 256
"""Vectors that product quantization needs: as many as a byte has values."""
DIMENSIONS_PER_BYTE = 4
LARGEST = 2**31 - 1  # number that faiss takes


@dataclass(frozen=True)
class IndexConfig(Config):
    """How the labels nearest to an embedding are found."""

    kind: str = setting(
        AUTO,
        "flat compares with every label; hnsw and ivf-pq compare with some, need faiss, and "
        "miss a few; auto decides by the number of labels, and is always flat on a GPU.",
        choices=(AUTO, FLAT, HNSW, IVF_PQ),
    )
    device: str = setting(
        AUTO,
        "Where flat search runs; auto: on a GPU if there is one.",
        choices=(AUTO, "cpu", "cuda"),
    )
    label_memory: str = setting(
        "device",
        "Where flat search on a GPU keeps the vectors of labels: on the GPU, or in the host's "
        "memory, from where each search sends them in pieces.",
        choices=("device", "host"),
    )
    flat_up_to: int = setting(400_000, "Labels up to which auto is flat on a CPU.", at_least=0)
    hnsw_up_to: int = setting(4_000_000, "Labels up to which auto is hnsw.", at_least=0)
    neighbors: int = setting(32, "hnsw: links of each label.", at_least=2, at_most=1024)
    build_width: int = setting(
        200, "hnsw: candidates looked at when a label is added.", at_least=1, at_most=LARGEST
    )
    search_width: int = setting(
        128, "hnsw: candidates looked at in a search.", at_least=1, at_most=LARGEST
    )
    n_lists: int | None = setting(
        None, "ivf-pq: lists the labels are dealt out to; None: 4 sqrt(n_labels).", at_least=1,
        at_most=LARGEST,
    )  # fmt: skip
    n_probes: int = setting(64, "ivf-pq: lists looked at in a search.", at_least=1, at_most=LARGEST)
    over_fetch: int = setting(
        10, "ivf-pq: candidates, in multiples of top_k, that are compared exactly.", at_least=1
    )
    random_state: int = setting(0, "ivf-pq: seed of its clusterings.", at_least=0, at_most=LARGEST)


class CandidateSearch(Protocol):
    """Finds labels that are probably among the nearest, in no particular order."""

    def candidates(self, queries: FloatArray, count: int) -> IntArray:
        """About `count` labels for each query, int64 (n, count); -1 if there are fewer."""

    def add(self, vectors: FloatArray) -> None:
        """Add labels, with the next ids."""

    def arrays(self) -> Arrays:
        """What `restore_search` needs besides the vectors."""


def build_search(kind: str, vectors: FloatArray, config: IndexConfig) -> CandidateSearch:
    """Index the vectors (n_labels, d) of all labels."""
    if kind == HNSW:
        graph = HnswSearch(vectors.shape[1], config)
        graph.add(vectors)
        return graph
    return IvfPqSearch.trained(vectors, config)


def restore_search(
    kind: str, vectors: FloatArray, config: IndexConfig, arrays: Mapping[str, npt.NDArray[Any]]
) -> CandidateSearch:
    """The search that was saved as `arrays`."""
    cls = HnswSearch if kind == HNSW else IvfPqSearch
    return cls.restored(vectors, config, arrays)


class HnswSearch:
    """A hierarchical navigable small-world graph (Malkov and Yashunin, 2020).

    Building it on several threads gives a slightly different graph each time.
    """

    def __init__(self, dim: int, config: IndexConfig) -> None:
        self._faiss: Any = require("faiss", extra="deep")
        self._width = config.search_width
        links, product = config.neighbors, self._faiss.METRIC_INNER_PRODUCT
        self._index = self._faiss.IndexHNSWFlat(dim, links, product)
        self._index.hnsw.efConstruction = config.build_width

    def add(self, vectors: FloatArray) -> None:
        """Link further labels into the graph."""
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def candidates(self, queries: FloatArray, count: int) -> IntArray:
        """The labels that a walk over the graph comes across."""
        # As many candidates as labels are all there are, and faiss makes room for the number asked.
        wanted = min(max(self._width, count), self._index.ntotal)
        width = self._faiss.SearchParametersHNSW(efSearch=max(wanted, 1))
        return np.asarray(self._index.search(queries, count, params=width)[1])

    def arrays(self) -> Arrays:
        """Levels (n,), link offsets (n + 1,), links, and (entry point, highest level)."""
        graph = self._index.hnsw
        return {
            "levels": self._faiss.vector_to_array(graph.levels),
            "offsets": self._faiss.vector_to_array(graph.offsets),
            "links": self._faiss.vector_to_array(graph.neighbors),
            "entry": np.array([graph.entry_point, graph.max_level], np.int64),
        }

    @classmethod
    def restored(
        cls, vectors: FloatArray, config: IndexConfig, arrays: Mapping[str, npt.NDArray[Any]]
    ) -> HnswSearch:
        """The graph as it was saved."""
        out = cls(vectors.shape[1], config)
        graph, faiss = out._index.hnsw, out._faiss
        faiss.copy_array_to_vector(np.array(arrays["levels"], np.int32), graph.levels)
        faiss.copy_array_to_vector(np.array(arrays["offsets"], np.uint64), graph.offsets)
        faiss.copy_array_to_vector(np.array(arrays["links"], np.int32), graph.neighbors)
        graph.entry_point, graph.max_level = (int(value) for value in arrays["entry"])
        faiss.downcast_index(out._index.storage).add(np.ascontiguousarray(vectors, np.float32))
        out._index.ntotal = len(vectors)
        return out


def most_levels(neighbors: int) -> int:
    """Return how many levels faiss has room for in a graph of so many links per label.

    Those on which a label is with a probability of 1e-9 or more; see ``set_default_probas``.
    """
    scale, level = math.log(neighbors), 0
    while math.exp(-level * scale) * (1 - math.exp(-scale)) >= 1e-9:
        level += 1
    return level


def check_graph(state: State, config: IndexConfig) -> None:
    """Raise a StoreError unless every link leads to a label that has a place on its level."""
    n_labels, width = len(state.arrays["vectors"]), config.neighbors
    levels = checks.array(state, "levels", "int32", (n_labels,))
    checks.within(levels, "levels", most_levels(width) + 1, low=1)
    offsets = checks.array(state, "offsets", "uint64", (n_labels + 1,))
    # A label has room for twice the links on the ground level, and once on each above.
    room = width * (levels.astype(np.int64) + 1)
    links = checks.array(state, "links", "int32", (int(room.sum()),))
    checks.starts(offsets, "offsets", len(links))
    if (np.diff(offsets) != room.astype(np.uint64)).any():
        raise StoreError("offsets must leave room for the links of each label's levels")
    checks.within(links, "links", n_labels, low=-1)
    entry, highest = checks.array(state, "entry", "int64", (2,)).tolist()
    if not 0 <= entry < n_labels or not highest == levels.max() - 1 == levels[entry] - 1:
        raise StoreError(f"the walk must start on the highest level, got {entry} on {highest}")
    if first_loose_link(readonly(levels), readonly(links), width) != SOUND:
        raise StoreError("a link leads to a label that is not on its level")


def check_lists(state: State) -> None:
    """Raise a StoreError unless lists and codes are those of the vectors."""
    dim = state.arrays["vectors"].shape[1]
    centers = checks.array(state, "centers", "float32", (None, dim))
    if not len(centers):
        raise StoreError("it has no lists")
    checks.finite(centers, "centers")
    codes = checks.array(state, "code_centers", "float32", (dim * FEWEST_FOR_CODES,))
    checks.finite(codes, "code_centers")


def check_search(state: State, kind: str, config: IndexConfig) -> None:
    """Check what a stored search of a kind consists of, beside the vectors."""
    own = {FLAT: (), HNSW: ("levels", "offsets", "links", "entry")}.get(
        kind, ("centers", "code_centers")
    )
    checks.names(state, arrays=("vectors", *own))
    if kind == HNSW:
        check_graph(state, config)
    elif kind == IVF_PQ:
        check_lists(state)


class IvfPqSearch:
    """Inverted lists of product-quantized labels (Jégou, Douze and Schmid, 2011)."""

    def __init__(self, dim: int, n_lists: int, config: IndexConfig) -> None:
        self._faiss: Any = require("faiss", extra="deep")
        product = self._faiss.METRIC_INNER_PRODUCT
        self._lists = self._faiss.IndexFlatIP(dim)
        self._index = self._faiss.IndexIVFPQ(self._lists, dim, n_lists, code_bytes(dim), 8, product)
        self._index.nprobe = min(config.n_probes, n_lists)
        for clustering in (self._index.cp, self._index.pq.cp):
            clustering.random_state = config.random_state
            clustering.min_points_per_centroid = 1  # faiss would warn on stderr
        self._index.cp.spherical = True

    @classmethod
    def trained(cls, vectors: FloatArray, config: IndexConfig) -> IvfPqSearch:
        """Learn lists and codes from the vectors, and take them up."""
        if len(vectors) < FEWEST_FOR_CODES:
            raise ConfigError(
                f"kind='ivf-pq' needs at least {FEWEST_FOR_CODES} labels, got {len(vectors)}: "
                "use kind='flat'"
            )
        n_lists = config.n_lists or int(4 * len(vectors) ** 0.5)
        out = cls(vectors.shape[1], min(n_lists, len(vectors)), config)
        out._index.train(np.ascontiguousarray(vectors, np.float32))
        out.add(vectors)
        return out

    def add(self, vectors: FloatArray) -> None:
        """Put further labels into the lists."""
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def candidates(self, queries: FloatArray, count: int) -> IntArray:
        """The labels whose codes are nearest, in the lists nearest to each query."""
        return np.asarray(self._index.search(queries, count)[1])

    def arrays(self) -> Arrays:
        """What was learned: the lists' centers (n_lists, d), and the codes'."""
        centers = self._lists.reconstruct_n(0, self._lists.ntotal)
        return {
            "centers": np.asarray(centers),
            "code_centers": self._faiss.vector_to_array(self._index.pq.centroids),
        }

    @classmethod
    def restored(
        cls, vectors: FloatArray, config: IndexConfig, arrays: Mapping[str, npt.NDArray[Any]]
    ) -> IvfPqSearch:
        """The lists as they were saved; the vectors are dealt out to them again."""
        dim, centers = vectors.shape[1], arrays["centers"]
        codes = np.array(arrays["code_centers"], np.float32)
        out = cls(dim, len(centers), config)
        out._lists.add(np.array(centers, np.float32))
        out._faiss.copy_array_to_vector(codes, out._index.pq.centroids)
        out._index.is_trained = True
        out.add(vectors)
        return out


def code_bytes(dim: int) -> int:
    """Bytes a vector is quantized to: the largest number up to dim / 4 that divides dim."""
    return max(n for n in range(1, max(1, dim // DIMENSIONS_PER_BYTE) + 1) if dim % n == 0)
