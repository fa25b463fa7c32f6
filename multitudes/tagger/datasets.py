"""Tag a whole Dataset, or texts by kind of answer: what the command line and the server call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.data.predictions.alignment import with_names
from multitudes.data.predictions.writing import TaggedInstance, prediction_writer
from multitudes.tagger.evaluation import known_pairs
from multitudes.tagger.fitted import FittedTagger
from multitudes.tagger.inputs import label_id
from multitudes.tagger.prediction import Kind, says_nothing
from multitudes.tagger.tags import TagLists, named_tags
from multitudes.types import IntArray, Predictions


def predict_tags(
    tagger: FittedTagger,
    texts: Any,
    *,
    kind: Kind = "scores",
    top_k: int | None = None,
    threshold: float | None = None,
    among: Among | None = None,
) -> TagLists:
    """Return the labels of each text, with scores, with probabilities, or as sets.

    Parameters
    ----------
    tagger : Tagger
    texts : sequence of str
        Or X, for a tagger fitted on features.
    kind : "scores", "probabilities" or "sets"
        See `Tagger.predict`, `Tagger.predict_proba` and `Tagger.predict_sets`.
    top_k : int, optional
        Labels per text, at most; defaults to 5, and for sets to all they have.
    threshold : float, optional
        Leave out labels whose score or probability is lower.
    among : Among, optional
        Which labels may be predicted; all by default.
    """
    labels = None if among is None else among.ids(tagger)
    if labels is None:
        return tagger._predict_kind(texts, kind, top_k=top_k, threshold=threshold)
    blocks = tagger._predictor().blocks(
        tagger._checked_inputs(texts), kind, top_k=top_k, labels=labels
    )
    found = Predictions.joined([found for _, found in blocks])
    return named_tags(found.above(threshold), tagger.classes_)


def predict_batches(
    tagger: FittedTagger,
    dataset: Dataset,
    *,
    top_k: int | None = None,
    kind: Kind = "scores",
    among: Among | None = None,
    watch: Callable[[Any], None] | None = None,
) -> Iterator[tuple[Dataset, Predictions]]:
    """Yield (some instances, their predictions) until all of the Dataset is done.

    A Dataset's filter pairs are left out before the `top_k` are cut, so rows stay full; their
    labels are matched by name. Labels of the predictions are the tagger's.

    Parameters
    ----------
    tagger : Tagger
    dataset : Dataset
    top_k : int, optional
        Labels per instance, at most; defaults to 5, and for sets to all they have.
    kind : "scores", "probabilities" or "sets"
        The latter two need a tagger that was calibrated, or a model that generates sets.
    among : Among, optional
        Which labels may be predicted; all by default.
    watch : function, optional
        Called with what the model reads, block by block: rows of X, or texts.
    """
    among = Among() if among is None else among
    blocks = tagger._predictor().blocks(
        tagger._inputs_of(dataset),
        kind,
        top_k=top_k,
        filter_pairs=among.pairs_left_out(dataset, tagger),
        labels=among.ids(tagger),
        watch=watch,
    )
    for rows, found in blocks:
        yield dataset[rows], found


@dataclass(frozen=True)
class Among:
    """Which labels may be predicted.

    Parameters
    ----------
    labels : sequence of str, optional
        Only these, by name. Rows stay full: the best of these are found, whatever their rank among
        all labels. Trees search all leaves that hold them, up to 256 leaves, and text encoders
        compare all of them, so the result is exact.
    only_new : bool
        Leave out the labels that an instance has in the data.
    """

    labels: Sequence[str] | None = None
    only_new: bool = False

    def ids(self, tagger: FittedTagger) -> IntArray | None:
        """Return the ids of the labels; an unknown name is an error."""
        if self.labels is None:
            return None
        index = {name: label for label, name in enumerate(tagger.classes_)}
        for name in self.labels:
            if name not in index:
                label_id(name, tagger.classes_)  # raises, and names the nearest
        return np.array(sorted({index[name] for name in self.labels}), np.int64)

    def pairs_left_out(self, dataset: Dataset, tagger: FittedTagger) -> IntArray | None:
        """Return the (row, label) pairs that must not be predicted, with the tagger's ids."""
        pairs = known_pairs(dataset, tagger)
        if not self.only_new:
            return pairs
        space = LabelSpace(tagger.classes_)
        own = relabel(with_names(dataset, tagger.classes_), space).Y
        found = np.stack(own.nonzero(), axis=1).astype(np.int64)
        return found if pairs is None else np.unique(np.concatenate([found, pairs]), axis=0)


@dataclass
class Written:
    """What `predict_to` has written.

    Attributes
    ----------
    n_instances, n_labels : int
        Instances, and labels given to them in all.
    n_unknown : int
        Instances of which the model knows no word, so that they got the labels of any text.
    """

    n_instances: int = 0
    n_labels: int = 0
    n_unknown: int = 0


def predict_to(
    out: BinaryIO,
    tagger: FittedTagger,
    dataset: Dataset,
    *,
    top_k: int | None = None,
    threshold: float | None = None,
    kind: Kind = "scores",
    among: Among | None = None,
    format: str = "jsonl",
) -> Written:
    """Write the predictions of a Dataset as JSON lines or a table; return how much it was.

    Parameters
    ----------
    out : binary stream
    tagger, dataset, top_k, kind, among
        As in `predict_batches`.
    threshold : float, optional
        Leave out labels whose score or probability is lower.
    format : "jsonl", "csv", "tsv" or "parquet"
        See `multitudes.data.predictions.writing`.
    """
    written = Written()

    def watch(X: Any) -> None:
        written.n_unknown += int(np.count_nonzero(says_nothing(X)))

    batches = predict_batches(tagger, dataset, top_k=top_k, kind=kind, among=among, watch=watch)
    titles = tagger.titles_
    uids, titled = dataset.uids is not None, bool(titles)
    with prediction_writer(out, format, has_uids=uids, has_titles=titled) as writer:
        for batch, found in batches:
            predictions = found.above(threshold)
            kept = predictions.labels >= 0
            for i in range(len(batch)):
                instance = written.n_instances if batch.uids is None else batch.uids[i]
                ids = predictions.labels[i, kept[i]].tolist()
                names = [tagger.classes_[label] for label in ids]
                shown = [titles.get(name, name) for name in names] if titled else None
                scores = predictions.scores[i, kept[i]]
                writer.write(TaggedInstance(instance, names, scores, shown))
                written.n_instances += 1
            written.n_labels += int(kept.sum())
    return written
