"""Costs: how long members take to train and to predict, on this machine.

A cost is an amount of work that follows from the data's size, times the seconds that a unit of it
takes. These are measured, as CPU seconds on one machine, by ``python -m benchmarks.auto_costs``; a
probe (`multitudes.tagger.auto.probe`) says how many seconds here such a second is, and members that
are finished correct it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from multitudes.labels.split_plan import tree_arities
from multitudes.tagger.costs.candidates import Candidate
from multitudes.tagger.costs.facts import Facts

LEAF, BEAM = 100, 10  # of the trees' defaults
TEXT_CHARACTERS = 250  # of a text that names of labels are searched in
TREES = {"xr-linear": (16, 1), "parabel": (2, 3)}  # branching, and number of trees

# CPU seconds per unit: of features per character, of training per ranker and width of an instance
# that takes part in it, of prediction per ranker and width of a text.
SECONDS = {
    "tfidf": 1.6e-08,
    "words-bigrams": 4.9e-08,
    "subwords": 5.9e-08,
    "xr-linear": 2.3e-09,
    "overlap": 4.2e-09,
    "overlap, words-bigrams": 5.8e-09,
    "overlap, subwords": 4.6e-09,
    "parabel": 3.3e-09,
    "one-vs-all": 1.4e-09,
    "predict": 8.8e-10,
    "lexical": 3.4e-4,  # per text; from a fifth of that to six times it, by what names share
}
PROBE_SECONDS = 0.084
"""CPU seconds of the probe on the machine of `SECONDS`."""

# PRIME: floating-point operations per token, and which part of a device's rate training reaches.
ENCODER_WEIGHTS = 10.6e6  # of all-MiniLM-L6-v2, without its table of tokens
EPOCHS = 20
CPU_RATE = 6e10  # floating-point operations per second of a core; more or less
REACHED = {"cuda": 0.25, "mps": 0.25, "cpu": 0.5}
START_SECONDS = 12.0  # to import torch, load the encoder, tokenize
TOKENS_PER_WORD, LONGEST, LABEL_TOKENS = 1.5, 256, 16


@dataclass(frozen=True)
class Costs:
    """Estimates in seconds.

    Parameters
    ----------
    pace : float
        Seconds here for a CPU second of the machine that was measured; 0.5 with two such cores.
    rate : float
        Floating-point operations per second of the device that an encoder is trained on.
    seen : tuple of (str, float)
        For each finished member, its family, and seconds it took over seconds estimated.
    """

    pace: float = 1.0
    rate: float = 1e11
    seen: tuple[tuple[str, float], ...] = ()

    def fit(self, candidate: Candidate, facts: Facts) -> float:
        """Return the seconds that training takes."""
        if candidate.model == "prime":
            return START_SECONDS + self._encoder(facts, 6 * EPOCHS, labels=True)
        if candidate.model == "lexical":
            return self._seconds(candidate, SECONDS["lexical"] * matched(facts))
        features = candidate.features or "tfidf"
        work = SECONDS.get(features, SECONDS["tfidf"]) * facts.n_instances * facts.characters
        cells = facts.n_instances * width(features, facts)
        rankers = SECONDS[kind_of(candidate)] * cells * trained(candidate, facts)
        return self._seconds(candidate, work + rankers)

    def predict(self, candidate: Candidate, facts: Facts, n: int) -> float:
        """Return the seconds that predicting n texts takes."""
        if candidate.model == "prime":
            return self._encoder(replace(facts, n_instances=n), 2, labels=False)
        if candidate.model == "lexical":
            return self._seconds(
                candidate, SECONDS["lexical"] * n * facts.characters / TEXT_CHARACTERS
            )
        features = candidate.features or "tfidf"
        read = SECONDS.get(features, SECONDS["tfidf"]) * facts.characters
        ranked = width(features, facts) * visited(candidate, facts)
        return self._seconds(candidate, n * (read + SECONDS["predict"] * ranked))

    def learned(self, candidate: Candidate, seconds: float, estimate: float) -> Costs:
        """Return costs that know how long a member took."""
        ratio = max(seconds, 1e-3) / max(estimate, 1e-3)
        return replace(self, seen=(*self.seen, (family(candidate), ratio)))

    def correction(self, candidate: Candidate) -> float:
        """What estimates are multiplied by: the mean of what was seen of its family, lately most.

        A geometric mean; what one family takes says nothing of the constants of another.
        """
        seen = [ratio for name, ratio in self.seen if name == family(candidate)]
        weights = [2.0**i for i in range(len(seen))]
        logs = [math.log(min(max(one, 0.05), 20.0)) for one in seen]
        total = sum(weights) + 0.5  # half an observation says that the estimates are right
        return math.exp(sum(w * one for w, one in zip(weights, logs, strict=True)) / total)

    def _seconds(self, candidate: Candidate, cpu_seconds: float) -> float:
        return cpu_seconds * self.pace * self.correction(candidate)

    def _encoder(self, facts: Facts, per_weight: int, *, labels: bool) -> float:
        tokens = min(facts.words * TOKENS_PER_WORD * 1.2 + 2, LONGEST)
        each = tokens + (2 * LABEL_TOKENS if labels else 0)
        operations = per_weight * ENCODER_WEIGHTS * facts.n_instances * each
        return operations / (self.rate * REACHED.get(facts.device, REACHED["cpu"]))


def family(candidate: Candidate) -> str:
    """Return the models whose estimates are wrong together: those over features, or one by name."""
    return candidate.model if candidate.features is None else "linear"


def kind_of(candidate: Candidate) -> str:
    """Return which of `SECONDS` the training of a tree or of rankers takes."""
    if candidate.settings.get("overlap", 1) == 1:
        return candidate.model
    over = f"overlap, {candidate.features}"
    return over if over in SECONDS else "overlap"


def seconds_of_rankers(n_instances: int, n_labels: int, words: float) -> float:
    """Return the CPU seconds of one ranker per label, on the machine of `SECONDS`."""
    facts = Facts(n_instances, n_labels, 0, words, 0.0)
    return SECONDS["one-vs-all"] * n_instances * n_labels * width("tfidf", facts)


def width(features: str, facts: Facts) -> float:
    """Return what an instance's row costs a ranker: something anyway, and less the longer it is.

    The form and its numbers were fitted to what ``benchmarks.auto_costs`` measured.
    """
    columns = facts.words
    if features == "words-bigrams":
        columns = 2 * facts.words
    elif features == "subwords":  # a part of a word begins at most characters
        columns = facts.words + max(facts.characters - 3 * facts.words, 0) * 0.8
    return float(20 + columns**0.8)


def matched(facts: Facts) -> float:
    """Return the texts that are searched for names of labels; a name costs a tenth of a text."""
    return facts.n_instances * facts.characters / TEXT_CHARACTERS + 0.1 * facts.n_labels


def trained(candidate: Candidate, facts: Facts) -> float:
    """Return the rankers that an instance takes part in the training of.

    In a tree these are, level by level, the children of the clusters that hold its labels.
    """
    if candidate.model not in TREES:
        return facts.n_labels
    branching, n_trees = TREES[candidate.model]
    per_instance = facts.n_pairs / max(facts.n_instances, 1)
    rankers, clusters = 0.0, 1
    for arity in tree_arities(facts.n_labels, branching, LEAF):
        rankers += min(per_instance, clusters) * arity
        clusters *= arity
    rankers += min(per_instance, clusters) * facts.n_labels / clusters
    return n_trees * rankers


def visited(candidate: Candidate, facts: Facts) -> float:
    """Return the rankers that score a text."""
    if candidate.model not in TREES:
        return facts.n_labels
    branching, n_trees = TREES[candidate.model]
    arities = tree_arities(facts.n_labels, branching, LEAF)
    clusters = math.prod(arities)
    levels = BEAM * sum(arities) + min(BEAM, clusters) * facts.n_labels / clusters
    return n_trees * levels * int(candidate.settings.get("overlap", 1))
