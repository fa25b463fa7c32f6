"""A fitted `Lexical` as a state, and what must hold of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.errors import MultitudesError, StoreError
from multitudes.features.stemming import AUTO
from multitudes.features.vocabulary import Vocabulary
from multitudes.lexical.evidence import EVIDENCE, LabelEvidence, MatchWeights
from multitudes.lexical.index import Entries, NameIndex
from multitudes.lexical.names import checked_languages
from multitudes.store import State, checks

BESIDE = (
    "languages",
    "coverage",
    "n_labels",
    "n_texts",
    "n_counted",
    "learned",
    "bias",
)
COUNTS = ("n_instances", "n_matches", "n_right")
ARRAYS = ("name_labels", "starts", "stems", "words", "sources", "text_counts", "weights", *COUNTS)
STRINGS = ("names", "stems", "words")
MOST = 2**48  # of what is counted: sums of counts stay within 64 bits


def lexical_state(model: Any) -> State:
    """Return the state of a fitted `Lexical`."""
    index, evidence = model.index_, model.label_evidence_
    parameters = model.get_params(deep=False)
    del parameters["n_jobs"]  # threads belong to the machine
    if not isinstance(parameters["language"], str):
        parameters["language"] = list(parameters["language"])
    config = {
        **parameters,
        "languages": list(index.languages),
        "coverage": index.coverage,
        "n_labels": index.n_labels,
        "n_texts": index.n_texts,
        "n_counted": evidence.n_texts,
        "learned": model.learned_,
        "bias": model.weights_.bias,
    }
    arrays = {
        "name_labels": index.name_labels,
        **dict(zip(("starts", "stems", "words", "sources"), index.entries, strict=True)),
        "text_counts": index.text_counts,
        "weights": model.weights_.weights,
        **dict(zip(COUNTS, evidence.by_label(), strict=True)),
    }
    strings = {
        "names": list(index.names), "stems": index.stems.names, "words": index.words.names
    }  # fmt: skip
    return State("lexical", config, arrays, strings)


def check_lexical(state: State, model: type) -> None:
    """Refuse a state with ids or counts beyond their lists, or settings out of range."""
    checks.names(state, arrays=ARRAYS, strings=STRINGS)
    checks.parameters(state, model, without=("n_jobs",), beside=BESIDE)
    _check_parameters(state)
    n_labels = checks.count(state, "n_labels", at_least=1)
    n_texts, _ = checks.count(state, "n_texts"), checks.count(state, "n_counted")
    checks.flag(state, "learned")
    checks.number(state, "bias")
    names, stems, words = (len(state.strings[name]) for name in STRINGS)
    name_labels = checks.array(state, "name_labels", "int32", (names,))
    checks.within(name_labels, "name_labels", n_labels)
    starts = checks.array(state, "starts", "int64", (None,))
    entry_stems = checks.array(state, "stems", "int32", (None,))
    checks.starts(starts, "starts", len(entry_stems))
    if len(starts) > 1 and int(np.diff(starts).min()) < 1:
        raise StoreError("starts has a name without words")
    checks.within(entry_stems, "stems", stems)
    entry_words = checks.array(state, "words", "int32", entry_stems.shape)
    checks.within(entry_words, "words", words)
    sources = checks.array(state, "sources", "int32", (len(starts) - 1,))
    checks.within(sources, "sources", names)
    checks.between(checks.array(state, "text_counts", "int64", (stems,)), "text_counts", 0, n_texts)
    checks.finite(checks.array(state, "weights", "float64", (len(EVIDENCE),)), "weights")
    for name in COUNTS:
        checks.between(checks.array(state, name, "int64", (n_labels,)), name, 0, MOST)


def _check_parameters(state: State) -> None:
    checks.flag(state, "learn")
    checks.flag(state, "compounds")
    checks.count(state, "max_instances", at_least=1)
    for name in ("coverage", "min_coverage"):
        if not 0 < checks.number(state, name) <= 1:
            raise StoreError(f"{name} must be above 0 and at most 1")
    language, languages = state.config["language"], state.config["languages"]
    _check_languages([language] if isinstance(language, str) else language, "language")
    _check_languages(languages, "languages")
    if AUTO in languages:
        raise StoreError("languages must be those that were found, got 'auto'")


def _check_languages(languages: Any, name: str) -> None:
    is_list = isinstance(languages, list) and all(isinstance(one, str) for one in languages)
    if not is_list or len(set(languages)) < len(languages):
        raise StoreError(f"{name} must be a list of distinct languages")
    try:
        checked_languages(languages[0] if len(languages) == 1 else languages)
    except MultitudesError as error:
        raise StoreError(f"{name}: {error}") from error


def parts_from_state(state: State) -> tuple[NameIndex, LabelEvidence, MatchWeights]:
    """Return what a checked state holds."""
    config, arrays = state.config, state.arrays
    stems, words = (
        Vocabulary.from_names(state.strings[name], joined_words=True) for name in ("stems", "words")
    )
    entries = Entries(
        *(np.asarray(arrays[name]) for name in ("starts", "stems", "words", "sources"))
    )
    index = NameIndex(
        list(state.strings["names"]),
        np.asarray(arrays["name_labels"]),
        config["n_labels"],
        tuple(config["languages"]),
        stems,
        words,
        entries,
        np.asarray(arrays["text_counts"]),
        config["n_texts"],
        float(config["coverage"]),
    )
    evidence = LabelEvidence.of((np.asarray(arrays[name]) for name in COUNTS), config["n_counted"])
    return index, evidence, MatchWeights(np.asarray(arrays["weights"]), float(config["bias"]))
