"""What kind of value a parameter takes, by its name, the callable it belongs to, or its type."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from campaigns.api import matrices, values
from campaigns.api.odd_types import mistyped, thing
from campaigns.api.values import F, G, L, N

Draw = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """How values of a parameter are drawn.

    Parameters
    ----------
    good
        What is expected; None for a parameter that is best left out.
    odd
        What else might be given; None if only good values are tried, as for objects of ours.
    """

    good: Draw | None
    odd: Draw | None


def matrix(rows: int, columns: int, *, binary: bool = False) -> Kind:
    """Return the kind of a sparse matrix."""
    shape = (rows, columns)
    return Kind(
        partial(matrices.good, shape=shape, binary=binary),
        partial(matrices.odd, shape=shape, binary=binary),
    )


def _left_out(odd: Draw) -> Kind:
    return Kind(None, odd)


def _effort(rng: random.Random) -> Any:
    """Counts of what is done again and again: large ones would be honored, and take as long."""
    if rng.random() < 0.3:
        return mistyped(rng.choice((None, "3", [], True)))
    return rng.choice((0, 1, 2, 3, -1, 2.5, np.int32(2), float("nan"), -(2**63)))


def _embeddings(rng: random.Random) -> Any:
    return rng.choice((matrices.good(rng, (L, F)), matrices.good(rng, (L, F)).toarray()))


def mappings(rng: random.Random) -> Any:
    """Return settings by name, or not quite."""
    choices = (
        {}, {"a": 1}, {"solver.cost": 1.0}, {"branching": 3}, {"branching": "x"}, {1: 2},
        {None: None},
        {"solver": {"cost": -1}}, {"solver": 3}, {"": ""}, {"random_state": 2**70}, [("a", 1)],
    )  # fmt: skip
    return rng.choice(choices) if rng.random() < 0.8 else thing(rng)


def _groups_listed(rng: random.Random) -> Any:
    listed: list[Any] = [rng.randrange(G) for _ in range(N)]
    odd = (None, [], [0, 1], "a", [None], 2.5, (0,), 10**30, [[0]])
    listed[rng.randrange(N)] = rng.choice(odd)
    return listed if rng.random() < 0.7 else thing(rng)


def _group_mapping(rng: random.Random) -> Any:
    found: dict[Any, Any] = {g: ["cat", "dog"] for g in range(G)}
    found[rng.randrange(G)] = rng.choice((None, [], "cat", [1], [None], ["cat", "cat"], 3))
    return found if rng.random() < 0.7 else thing(rng)


def _rows(rng: random.Random) -> Any:
    return values.ids(rng)


def _cutoffs(rng: random.Random) -> Any:
    choices = (
        (1, 3),
        [1],
        [],
        (0,),
        (-1,),
        (1, 1),
        (2.5,),
        ("1",),
        5,
        (2**63,),
        (10**30,),
        {1, 2},
        (None,),
    )
    return rng.choice(choices) if rng.random() < 0.8 else thing(rng)


def _leaves(rng: random.Random) -> Any:
    choices = (
        [[0, 1], [2, 3], [4, 5]], [[0], [0]], [], [[]], [[-1]], [[10**9]], [[0.5]], [["a"]],
        [0, 1], [[0], None],
        {"a": [0, 1], "b": {"c": [2, 3]}}, {"a": {}}, [[0, [1, [2]]]], np.array([[0, 1], [2, 3]]),
        np.array([-1, 0, 0, 1]), np.array([[0, 10**6]]), [[2**31]], np.array([0, 1, 1]),
    )  # fmt: skip
    return rng.choice(choices) if rng.random() < 0.8 else thing(rng)


def _ngrams(rng: random.Random) -> Any:
    choices = (
        (1, 1),
        (1, 2),
        (2, 1),
        (0, 1),
        (1,),
        (1, 2, 3),
        ("a", 1),
        (1.5, 2),
        [1, 2],
        (10**9, 10**9),
        3,
    )
    return rng.choice(choices) if rng.random() < 0.8 else thing(rng)


def truth(rng: random.Random) -> Any:
    """Labels that are right: a matrix, or lists of ids."""
    if rng.random() < 0.6:
        return matrices.odd(rng, (N, L), binary=True)
    rows: list[Any] = [[i % L] for i in range(N)]
    rows[rng.randrange(N)] = rng.choice(
        ([], [-1], [L], [10**9], [0.5], ["a"], None, [0, 0], 3, [2**31])
    )
    return rows


INTEGER, NUMBER, FLAG, WORD = (
    _left_out(draw) for draw in (values.integer, values.number, values.flag, values.word)
)
EFFORT = _left_out(_effort)
FEATURES = matrix(N, F)
LABELS = matrix(N, L, binary=True)
IDS = Kind(lambda rng: np.array([0, L - 1]), values.ids)
TEXTS = Kind(values.good_texts, values.texts)
LABEL_LISTS = Kind(values.good_label_lists, values.label_lists)
PREDICTED = Kind(values.good_predictions, values.predictions)
OUR_PREDICTIONS = Kind(values.good_predictions, values.our_predictions)
TRUTH = Kind(partial(matrices.good, shape=(N, L), binary=True), truth)
NAMES = Kind(None, values.names)
PATH = Kind(lambda rng: "nowhere", values.path)
OURS = Kind(None, None)
GOOD_COUNT = Kind(lambda rng: rng.randint(1, 3), values.integer)

BY_NAME: dict[str, Kind] = {
    "X": FEATURES, "x": matrix(1, F), "Y": LABELS, "y": LABELS, "truth": TRUTH, "Y_train": TRUTH,
    "Y_known": LABELS, "bag": matrix(3, F), "data": TEXTS,
    "groups": matrix(N, G, binary=True), "group_labels": matrix(G, L, binary=True),
    "label_embeddings": Kind(_embeddings, partial(matrices.odd, shape=(L, F))),
    "label_features": _left_out(partial(matrices.odd, shape=(L, F))),
    "hard_negatives": _left_out(partial(matrices.odd, shape=(N, L), binary=True)),
    "given": Kind(None, partial(matrices.odd, shape=(N, L), binary=True)),
    "leaves": Kind(lambda rng: [[0, 1, 2], [3, 4, 5]], _leaves),
    "hierarchy": Kind(lambda rng: {"a": [0, 1, 2], "b": [3, 4, 5]}, _leaves),
    "assignment": matrix(L, 3, binary=True), "matches": matrix(N, 3, binary=True),
    "counts": matrix(L, 3), "current": matrix(L, 3, binary=True), "like": matrix(L, 3, binary=True),
    "imputation": matrix(N, L, binary=True), "known": _left_out(partial(values.array, n=N)),
    "texts": TEXTS, "text": Kind(lambda rng: "an old dog", values.text), "labels": IDS,
    "label_texts": NAMES, "label_names": NAMES, "label_titles": NAMES, "names": NAMES,
    "uids": _left_out(values.texts), "feature_names": _left_out(values.names),
    "group_names": _left_out(values.names), "titles": NAMES,
    "predictions": PREDICTED, "parts": Kind(
        lambda rng: [values.good_predictions(rng)] * 2,
        lambda rng: [values.good_predictions(rng), values.predictions(rng)],
    ),
    "scores": matrix(N, L), "pairs": Kind(lambda rng: np.array([[0, 1]]), values.pairs),
    "filter_pairs": _left_out(values.pairs),
    "inverse_propensity": Kind(lambda rng: np.ones(L), partial(values.array, n=L)),
    "sample_weight": _left_out(partial(values.array, n=N)),
    "label_weight": _left_out(partial(values.array, n=L)),
    "ks": _left_out(_cutoffs), "min_counts": _left_out(_cutoffs),
    "weights": _left_out(partial(values.array, n=2)),
    "rows": Kind(lambda rng: [0, 2], _rows), "label": Kind(lambda rng: 1, values.integer),
    "labels_listed": LABEL_LISTS, "settings": _left_out(mappings),
    "blocks": Kind(lambda rng: [matrices.good(rng, (N, F))] * 2,
                   lambda rng: [matrices.odd(rng, (N, F)), matrices.good(rng, (N, F))]),
    "word_ngrams": _left_out(_ngrams), "char_ngrams": _left_out(_ngrams),
    "ngrams": _left_out(_ngrams), "kernels": _left_out(_ngrams), "strides": _left_out(_ngrams),
    "path": PATH, "folder": PATH, "checkpoint": _left_out(values.path), "label_counts": IDS,
    "n_bytes": GOOD_COUNT, "what": Kind(lambda rng: "all of it", values.word),
    "size": Kind(lambda rng: "1GB", values.word), "value": GOOD_COUNT,
    "shape": Kind(lambda rng: (N, L), None),
    "assignments": Kind(lambda rng: ["branching=3"], values.names),
    "parameters": Kind(lambda rng: {}, mappings), "content": Kind(lambda rng: {}, mappings),
    "k": GOOD_COUNT, "n": Kind(lambda rng: N, None), "depth": Kind(lambda rng: 2, _effort),
    "size_": GOOD_COUNT, "level": Kind(lambda rng: 0, values.integer),
    "leaf": Kind(lambda rng: 0, values.integer), "instance": Kind(lambda rng: 0, values.integer),
    "top_k": Kind(lambda rng: 3, values.integer), "threshold": Kind(lambda rng: 0.1, values.number),
    "n_labels": Kind(lambda rng: L, values.integer), "n_leaves": GOOD_COUNT, "overlap": EFFORT,
    "n_instances": Kind(lambda rng: N, _effort), "noise": Kind(lambda rng: 0.1, values.number),
    "index": Kind(lambda rng: 0, values.integer), "separator": WORD, "uid": WORD,
    "mode": Kind(lambda rng: "random", values.word), "name": Kind(lambda rng: "X", None),
    "axes": OURS, "matrix": FEATURES, "vectors": matrix(L, F),
}  # fmt: skip
EFFORTS = {
    "n_steps", "rounds", "folds", "n_folds", "n_trees", "max_epochs", "epochs", "n_epochs",
    "max_iterations",
    "n_resamples", "n_samples", "transport_steps", "transport_inner_steps", "layers",
    "scratch_layers",
    "scratch_dim", "hidden", "hidden_size", "n_concepts", "max_depth", "n_jobs", "n_threads",
    "size",
    "n_candidates", "keep_examples", "max_labels", "patience", "dim", "feed_forward", "n_heads",
    "n_bins",
    "group_size", "n_neighbors", "max_children", "stages", "n_label_positives", "workers",
}  # fmt: skip
BY_CALLABLE: dict[str, Kind] = {
    "size": Kind(lambda rng: 3, _effort),
    "Tagger.labels": LABEL_LISTS, "Tagger.label": Kind(lambda rng: "cat", values.text),
    "Tagger.groups": Kind(lambda rng: [i % G for i in range(N)], _groups_listed),
    "Tagger.group_labels": Kind(lambda rng: {g: ["cat", "dog"] for g in range(G)}, _group_mapping),
    "Tagger.remove_labels.labels": Kind(lambda rng: ["cat"], values.names),
    "from_lists.labels": LABEL_LISTS, "Predictions.labels": Kind(
        lambda rng: values.good_predictions(rng).labels, lambda rng: values.predictions(rng)),
    "Predictions(...).scores": Kind(
        lambda rng: values.good_predictions(rng).scores, partial(values.array, n=N)),
    "Predictions(...).labels": Kind(
        lambda rng: values.good_predictions(rng).labels, values.ids),
    "Predictions.from_lists.labels": Kind(lambda rng: [[i % L] for i in range(N)], truth),
    "Predictions.from_lists.scores": Kind(lambda rng: [[0.5]] * N, values.label_lists),
    "random_groups.size": Kind(lambda rng: 3, _effort), "score_pairs.pairs": LABELS,
    "checked_pairs.pairs": LABELS, "compare.a": PREDICTED, "compare.b": PREDICTED,
    "compare_sets.a": PREDICTED, "compare_sets.b": PREDICTED,
    "average.predictions": Kind(
        lambda rng: [values.good_predictions(rng)] * 2,
        lambda rng: [values.good_predictions(rng), values.predictions(rng)]),
    "LabelSpace(...).names": Kind(lambda rng: list(values.NAMES), values.names),
    "fit_new_labels.leaves": matrix(L, 2, binary=True),
    "Dataset(...).texts": _left_out(values.texts),
    "Dataset(...).X": FEATURES,
    "Dataset(...).groups": _left_out(partial(matrices.odd, shape=(N, G))),
    "Dataset(...).group_labels": _left_out(partial(matrices.odd, shape=(G, L))),
    "from_texts.label_texts": Kind(lambda rng: list(values.NAMES), values.texts),
    "Prime.explain.text": Kind(lambda rng: "an old dog", values.text),
    "Prime.X": TEXTS, "OTSeq2Set.X": TEXTS, "Prime.groups": OURS,
    "DeepMIML.predict.groups": _left_out(
        partial(matrices.odd, shape=(N, G), binary=True)),
    "DeepMIML.score.groups": _left_out(partial(matrices.odd, shape=(N, G), binary=True)),
    "ConcatFeatures(...).blocks": OURS, "ConcatFeatures(...).weights": _left_out(
        partial(values.array, n=2)),
    "XRLinear(...).weights": WORD, "Parabel(...).weights": WORD, "OneVsAll(...).weights": WORD,
    "checked_weights.weights": Kind(lambda rng: np.ones(N), partial(values.array, n=N)),
    "render.label_names": NAMES, "label_rows.rows": Kind(lambda rng: range(2), None),
    "to_frame.rows": _left_out(values.texts), "TfidfFeatures.y": OURS, "transform.y": OURS,
    "HashingFeatures.y": OURS, "DenseFeatures.X": FEATURES, "EncoderFeatures.y": OURS,
    "inverse_propensity.a": NUMBER, "inverse_propensity.b": NUMBER,
    "checked_label.label": GOOD_COUNT,
    "PrototypeIndex.X": matrix(2, 32), "choose.n_instances": Kind(lambda rng: N, values.integer),
    "model_spec.name": Kind(lambda rng: "parabel", values.word),
    "propensity_preset.name": Kind(lambda rng: "default", values.word),
    "prime_preset.name": Kind(lambda rng: "x", values.word),
    "seq2set_preset.name": Kind(lambda rng: "x", values.word),
    "limited.size": Kind(lambda rng: "1GB", values.word),
    "parse_size.size": Kind(lambda rng: "1GB", values.word),
    "from_pandas.labels": OURS, "from_pandas.text": OURS, "evaluate.labels": LABEL_LISTS,
}  # fmt: skip
BY_TYPE = (
    ("bool", FLAG), ("int", INTEGER), ("float", NUMBER), ("str", WORD),
    ("Path", _left_out(values.path)),
    ("Sparse", LABELS), ("ArrayLike", _left_out(partial(values.array, n=N))),
)  # fmt: skip


def kind_of(owner: str, method: str, parameter: inspect.Parameter) -> Kind | None:
    """Return the kind of a parameter; None if it is not known, e.g. an object of ours.

    Parameters
    ----------
    owner
        The class, or the function itself.
    method
        The method; ``(...)`` for the constructor, empty for a function.
    """
    name = parameter.name
    whole = owner + method if method == "(...)" else f"{owner}.{method}".rstrip(".")
    for key in (f"{whole}.{name}", f"{method}.{name}", f"{owner}.{name}"):
        if key in BY_CALLABLE:
            return BY_CALLABLE[key]
    if name in EFFORTS:
        return EFFORT
    if str(parameter.annotation).strip("'") == "Predictions":
        return OUR_PREDICTIONS
    if name in BY_NAME:
        return BY_NAME[name]
    written = str(parameter.annotation)
    if any(
        word in written for word in ("Config", "Dataset", "Resampling", "LabelTree", "Callable")
    ):
        return None
    return next((kind for type_name, kind in BY_TYPE if type_name in written), None)
