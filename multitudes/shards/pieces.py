"""The instances of a run as pieces: rows of X and Y that any machine can map into memory.

Rows of X and Y are what one machine would make of the same files one after the other, bit for bit.
Each piece also has Y by label, so that whoever needs the instances of some labels reads no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.features.term_counts import Counts
from multitudes.features.tfidf import TfidfConfig
from multitudes.features.weighting import normalized, side_by_side, weighted
from multitudes.kernels.gathering import take_rows
from multitudes.linear.tasks import TrainingSet
from multitudes.shards.run import Arrays, Run, Stage
from multitudes.types import FloatArray, IntArray, LabelArray


def make_piece(run: Run, config: TfidfConfig | None, shard: int) -> Arrays:
    """Weigh the counts of a shard, and number its labels as all shards do."""
    read = run.read("counts", shard)
    Y = _numbered(read, run.read("labels", shard)["ids"])
    if "n_features" in read:
        X: Arrays = {name: read[name] for name in ("indptr", "indices", "data")}
    else:
        assert config is not None  # a shard of texts was counted with it
        rows = _weighed(run, shard, read, config)
        X = {"indptr": rows.indptr.astype(np.int64), "indices": rows.indices, "data": rows.data}
    return X | Y


def _numbered(read: Arrays, ids: npt.NDArray[np.int32]) -> Arrays:
    """Rows of Y with ascending labels, and the rows of each label in turn."""
    indptr, labels = read["y_indptr"], ids[read["y_indices"]]
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    order = np.lexsort((labels, rows))
    by_label = np.lexsort((rows, labels))
    return {
        "y_indptr": indptr,
        "y_indices": labels[order],
        "labels": labels[by_label],  # (label, row) pairs, by label
        "rows": rows[by_label],
    }


def _weighed(run: Run, shard: int, read: Arrays, config: TfidfConfig) -> sp.csr_array[Any]:
    learned, columns = run.read("vocabulary", 0), run.read("columns", shard)
    blocks = []
    for kind in range(len(config.sources())):
        counts = Counts(*(np.array(read[f"{name}_{kind}"]) for name in ("indptr", "ids", "counts")))
        idf = np.array(learned[f"idf_{kind}"])
        blocks.append(
            weighted(
                [counts], len(idf), sublinear_tf=config.sublinear_tf, idf=idf,
                columns=np.array(columns[f"columns_{kind}"]),
            )
        )  # fmt: skip
    return normalized(side_by_side(blocks))


PIECES = Stage("pieces", "weighing terms", make_piece)


@dataclass(frozen=True)
class Pieces:
    """All instances of a run: their pieces, mapped where they are needed.

    Parameters
    ----------
    run : Run
    starts : tuple of int (n_pieces + 1,)
        The first instance of each piece, and their number.
    n_features, n_labels : int
    """

    run: Run
    starts: tuple[int, ...]
    n_features: int
    n_labels: int

    @classmethod
    def of(cls, run: Run, n_pieces: int, n_features: int, n_labels: int) -> Pieces:
        """Look at the finished pieces of a run."""
        sizes = [len(run.read(PIECES.name, i)["y_indptr"]) - 1 for i in range(n_pieces)]
        return cls(run, tuple(np.cumsum([0, *sizes]).tolist()), n_features, n_labels)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_instances(self) -> int:
        """Instances of all pieces."""
        return self.starts[-1]

    @property
    def n_values(self) -> int:
        """Values of X in all pieces."""
        return sum(len(piece["indices"]) for piece in self.mapped)

    @cached_property
    def mapped(self) -> list[Arrays]:
        """The arrays of all pieces, mapped: nothing is read before it is used."""
        return [self.run.read(PIECES.name, i) for i in range(len(self))]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the maps behind: another process has its own."""
        return {key: value for key, value in vars(self).items() if key != "mapped"}

    def of_labels(self, first: int, stop: int) -> tuple[LabelArray, LabelArray]:
        """Return the (label, instance) pairs of labels first to stop, by label, then instance."""
        return self.pairs([(piece["labels"], piece["rows"]) for piece in self.mapped], first, stop)

    def pairs(
        self, sorted_pairs: Sequence[tuple[LabelArray, LabelArray]], first: int, stop: int
    ) -> tuple[LabelArray, LabelArray]:
        """Return the (id, instance) pairs with ids from `first` to `stop` of (id, row) pairs."""
        ids, instances = [], []
        for start, (own_ids, rows) in zip(self.starts[:-1], sorted_pairs, strict=True):
            a, b = np.searchsorted(own_ids, [first, stop])
            ids.append(own_ids[a:b])
            instances.append(rows[a:b] + np.int32(start))
        joined, whom = np.concatenate(ids), np.concatenate(instances)
        order = np.argsort(joined, kind="stable")
        return joined[order], whom[order]

    def rows_of(self, instances: LabelArray) -> tuple[IntArray, LabelArray, FloatArray]:
        """Copy the rows of X of ascending instances: indptr, indices and data of a CSR."""
        cuts = np.searchsorted(instances, self.starts)
        parts = [
            (piece, (instances[a:b] - start).astype(np.int32))
            for piece, start, a, b in zip(
                self.mapped, self.starts, cuts[:-1], cuts[1:], strict=False
            )
        ]
        lengths = [piece["indptr"][rows + 1] - piece["indptr"][rows] for piece, rows in parts]
        indptr = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
        indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
        for (piece, rows), a, b in zip(parts, cuts[:-1], cuts[1:], strict=True):
            if len(rows):
                take_rows(
                    piece["indptr"], piece["indices"], piece["data"], rows,
                    indptr[a : b + 1], indices, data,
                )  # fmt: skip
        return indptr, indices, data

    def training_set(self, instances: LabelArray) -> TrainingSet:
        """Return what rankers of these instances are trained on."""
        indptr, indices, data = self.rows_of(instances)
        square = np.zeros(len(instances), np.float32)
        filled = np.flatnonzero(np.diff(indptr))
        if len(filled):
            square[filled] = np.add.reduceat(data * data, indptr[filled])
        weight = np.ones(len(square), np.float32)
        whole = (self.n_instances, self.n_values)
        return TrainingSet(indptr, indices, data, square, weight, self.n_features, n_all=whole)
