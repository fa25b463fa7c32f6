"""Problem 2: same model, same test, three answers. Now every way gives the same number.

The ways: train --test, train --validation, predict and evaluate with all its options, evaluate with
the model itself, compare, `evaluate_dataset`, and `metrics` with names. The data: labels that
training never saw, instances without labels, and filter pairs. The right answer is worked out
below, from the prediction file, with plain sets.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multitudes import metrics
from multitudes.cli import main
from multitudes.data import Dataset, LabelSpace, ReadOptions, read_dataset, relabel
from multitudes.tagger import Tagger, evaluate_dataset

TOPICS = {
    "belts": "leather buckle waist strap",
    "fruit": "apple pear juicy orchard",
    "planets": "orbit mercury moon crater",
    "fish": "bass river scales angler",
    "music": "guitar melody bass concert",
    "bread": "flour oven crust yeast",
    "trains": "rail station engine track",
}
UNSEEN = ["telescopes", "cheese", "fonts"]
KS = (1, 3, 5)
SCENARIOS = ("lines", "filter pairs", "features and ids")


def instances(rng: np.random.Generator, n: int, *, unseen: bool) -> list[tuple[str, list[str]]]:
    """Texts that mix the words of their topics, and labels some of which are missing or new."""
    names = list(TOPICS)
    made = []
    for _ in range(n):
        topics = rng.permutation(names)[: rng.integers(1, 4)].tolist()
        words = [word for topic in topics for word in rng.permutation(TOPICS[topic].split())[:2]]
        labels = [topic for topic in topics if not unseen or rng.random() > 0.2]
        if unseen and rng.random() < 0.3:
            labels += rng.permutation(UNSEEN)[: rng.integers(1, 3)].tolist()
        made.append((" ".join(rng.permutation(words)), [] if rng.random() < 0.1 else labels))
    return made


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*arguments: object) -> str:
    """Run ``multitudes ARGUMENTS`` and return what it wrote to stdout."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as caught:
        main([*map(str, arguments), "-q"])
    assert not caught.value.code, out.getvalue()
    return out.getvalue()


def parsed(*arguments: object) -> dict[str, Any]:
    return json.loads(run(*arguments, "--json"))


@dataclass(frozen=True)
class Prepared:
    """Files of one scenario, a model, and its predictions as ranking and as sets."""

    folder: Path
    train: Path
    test: Path
    model: Path
    trained: dict[str, Any]
    trained_on_known: dict[str, Any]

    @property
    def ranking(self) -> Path:
        return self.folder / "ranking.jsonl"

    @property
    def sets(self) -> Path:
        return self.folder / "sets.jsonl"

    @cached_property
    def tagger(self) -> Tagger:
        return Tagger.load(self.model)

    @cached_property
    def dataset(self) -> Dataset:
        return read_dataset(self.test, options=ReadOptions(split="tst"))

    @property
    def inputs(self) -> Any:
        return self.dataset.X if self.dataset.texts is None else list(self.dataset.texts)

    def is_known(self, label: str) -> bool:
        return label in self.tagger.classes_

    def truth(self) -> list[list[str]]:
        return [self.dataset.labels_of(i) for i in range(len(self.dataset))]

    def as_table(self, *options: str) -> Path:
        """Predict to a CSV, which has no row for an instance without labels."""
        path = self.folder / "table.csv"
        run("predict", self.model, self.test, "-o", path, *options)
        return path

    def predicted(self, file: Path) -> list[list[str]]:
        lines = map(json.loads, file.read_text().splitlines())
        return [[tag["label"] for tag in line["labels"]] for line in lines]


def write_test_folder(folder: Path, rows: list[tuple[str, list[str]]]) -> Path:
    """The LF layout, whose ids are in another order than the model's; pairs hit both kinds."""
    names = sorted([*TOPICS, *UNSEEN], reverse=True)
    folder.mkdir()
    write_lines(folder / "lbl.jsonl", [{"uid": f"l{i}", "title": n} for i, n in enumerate(names)])
    write_lines(
        folder / "tst.jsonl",
        [
            {"uid": f"q{i}", "title": text, "content": "", "labels": [*map(names.index, labels)]}
            for i, (text, labels) in enumerate(rows)
        ],
    )
    pairs = []
    for i, (_, labels) in enumerate(rows):
        if i % 3 == 0 and labels:
            pairs.append((i, names.index(labels[0])))  # a true label: it counts as missed
        if i % 5 == 0:
            pairs.append((i, names.index("fish")))
    lines = sorted({f"{row} {label}\n" for row, label in pairs})
    (folder / "filter_labels_test.txt").write_text("".join(lines))
    return folder


def write_features(path: Path, rows: list[tuple[str, list[str]]]) -> Path:
    """Sparse text: words and labels are numbers, and the new labels have the largest."""
    words = sorted({word for topic in TOPICS.values() for word in topic.split()})
    names = [*TOPICS, *UNSEEN]
    lines = []
    for text, labels in rows:
        ids = sorted({words.index(word) for word in text.split()})
        listed = ",".join(str(names.index(label)) for label in labels)
        lines.append(f"{listed} {' '.join(f'{i}:1' for i in ids)}\n")
    n_labels = 1 + max(names.index(label) for _, labels in rows for label in labels)
    path.write_text(f"{len(rows)} {len(words)} {n_labels}\n" + "".join(lines))
    return path


def write_parts(folder: Path, scenario: str) -> tuple[Path, Path]:
    """The training and the test data of a scenario."""
    rng = np.random.default_rng(7)
    learned, rows = instances(rng, 300, unseen=False), instances(rng, 120, unseen=True)
    if scenario == "features and ids":
        return tuple(
            write_features(folder / f"{name}.txt", part)
            for name, part in (("train", learned), ("test", rows))
        )
    lines = [{"text": text, "labels": labels} for text, labels in learned]
    train = write_lines(folder / "train.jsonl", lines)
    if scenario == "filter pairs":
        return train, write_test_folder(folder / "test", rows)
    lines = [{"uid": f"q{i}", "text": t, "labels": ls} for i, (t, ls) in enumerate(rows)]
    return train, write_lines(folder / "test.jsonl", lines)


@pytest.fixture(scope="module", params=SCENARIOS)
def prepared(request, tmp_path_factory) -> Prepared:
    folder = tmp_path_factory.mktemp("ways")
    train, test = write_parts(folder, request.param)
    model = folder / "model"
    validation = test if test.is_file() else test / "tst.jsonl"
    options = ("-m", "xr-linear", "--test", test, "--validation", validation)
    trained = parsed("train", train, "-o", model, *options)
    known = parsed("train", train, "-o", folder / "other", *options, "--known-labels")
    made = Prepared(folder, train, test, model, trained, known)
    run("predict", model, test, "-o", made.ranking)
    run("predict", model, test, "-o", made.sets, "--sets")
    return made


def expected_ranking(prepared: Prepared, *, known: bool = False) -> dict[str, float]:
    """P, R, nDCG, macro-P, -R, -F1 and coverage by their formulas, from plain lists."""
    ranked = prepared.predicted(prepared.ranking)
    truth = [[t for t in row if not known or prepared.is_known(t)] for row in prepared.truth()]
    values: dict[str, float] = {}
    for k in KS:
        best = [row[:k] for row in ranked]
        hits = [[label in true for label in row] for row, true in zip(best, truth, strict=True)]
        gains = [sum(h / math.log2(j + 2) for j, h in enumerate(row)) for row in hits]
        ideal = [sum(1 / math.log2(j + 2) for j in range(min(k, len(t)))) for t in truth]
        n = len(truth)
        values[f"P@{k}"] = sum(sum(row) / k for row in hits) / n
        values[f"R@{k}"] = sum(sum(h) / len(t) for h, t in zip(hits, truth, strict=True) if t) / n
        values[f"nDCG@{k}"] = sum(g / i for g, i in zip(gains, ideal, strict=True) if i) / n
        values |= {f"{name}@{k}": value for name, value in per_label(best, truth).items()}
    return values


def expected_sets(prepared: Prepared, *, known: bool = False) -> dict[str, float]:
    found = prepared.predicted(prepared.sets)
    truth = [[t for t in row if not known or prepared.is_known(t)] for row in prepared.truth()]
    hits = [len({*f} & {*t}) for f, t in zip(found, truth, strict=True)]
    sizes = [len(f) + len(t) for f, t in zip(found, truth, strict=True)]
    macro = per_label(found, truth)
    return {
        "micro-F1": 2 * sum(hits) / sum(sizes),
        "example-F1": sum(2 * h / s for h, s in zip(hits, sizes, strict=True) if s) / len(truth),
        **{name: macro[name] for name in ("macro-P", "macro-R", "macro-F1")},
    }


def per_label(found: list[list[str]], truth: list[list[str]]) -> dict[str, float]:
    labels = {label for row in (*found, *truth) for label in row}
    scores = []
    for label in labels:
        in_found, in_truth = ([label in row for row in rows] for rows in (found, truth))
        hits = sum(f and t for f, t in zip(in_found, in_truth, strict=True))
        n_found, n_true = sum(in_found), sum(in_truth)
        scores.append(
            (hits / max(n_found, 1), hits / max(n_true, 1), 2 * hits / (n_found + n_true))
        )
    covered = {t for f, t in zip(found, truth, strict=True) for t in t if t in f}
    means = [math.fsum(column) / len(labels) for column in zip(*scores, strict=True)]
    every = {label for row in truth for label in row}
    return dict(zip(("macro-P", "macro-R", "macro-F1"), means, strict=True)) | {
        "coverage": len(covered) / len(every)
    }


def evaluated(prepared: Prepared, *options: object) -> dict[str, float]:
    return parsed("evaluate", prepared.ranking, prepared.test, *options)["values"]


def compared(prepared: Prepared, side: str, *options: object) -> dict[str, float]:
    other = prepared.folder / "other.jsonl"
    lines = map(json.loads, prepared.ranking.read_text().splitlines())
    write_lines(other, [line | {"labels": line["labels"][::-1]} for line in lines])
    files = (prepared.ranking, other) if side == "a" else (other, prepared.ranking)
    found = parsed("compare", *files, prepared.test, "--resamples", 10, *options)
    return {name: difference[side] for name, difference in found["differences"].items()}


def by_ids(prepared: Prepared) -> dict[str, float]:
    """Predictions and truth as a user of the arrays would bring them together."""
    tagger = prepared.tagger
    dataset = prepared.dataset
    new = [name for name in LabelSpace.of(dataset).names if not prepared.is_known(name)]
    space = LabelSpace((*tagger.classes_, *new))
    truth = relabel(dataset, space)
    lists = [[space.index[n] for n in row] for row in prepared.predicted(prepared.ranking)]
    return dict(metrics.evaluate(lists, truth.Y, ks=KS).values)


def by_tags(prepared: Prepared) -> dict[str, float]:
    """What `Tagger.predict` returns, less the filter pairs."""
    dataset = prepared.dataset
    pairs = [] if dataset.filter_pairs is None else dataset.filter_pairs.tolist()
    filtered = {(row, dataset.label_name(label)) for row, label in pairs}
    tags = prepared.tagger.predict(prepared.inputs, top_k=len(TOPICS))
    kept = [[t for t in row if (i, t.label) not in filtered][:5] for i, row in enumerate(tags)]
    return dict(metrics.evaluate(kept, prepared.truth(), ks=KS).values)


RANKING_WAYS = {
    "train --test": lambda p: p.trained["test"]["values"],
    "train --validation": lambda p: p.trained["validation"]["values"],
    "evaluate": lambda p: evaluated(p),
    "evaluate --train": lambda p: evaluated(p, "--train", p.train),
    "evaluate --intervals": lambda p: evaluated(p, "--intervals", "--resamples", 10),
    "evaluate --ks": lambda p: evaluated(p, "--ks", "1,2,3,4,5"),
    "evaluate --model": lambda p: evaluated(p, "--model", p.model),
    "evaluate MODEL": lambda p: parsed("evaluate", p.model, p.test)["values"],
    "evaluate a table": lambda p: parsed("evaluate", p.as_table(), p.test)["values"],
    "compare, first": lambda p: compared(p, "a"),
    "compare, second": lambda p: compared(p, "b"),
    "compare --train": lambda p: compared(p, "a", "--train", p.train),
    "evaluate_dataset": lambda p: evaluate_dataset(p.tagger, p.dataset).values,
    "evaluate_dataset, train": lambda p: (
        evaluate_dataset(p.tagger, p.dataset, train=read_dataset(p.train)).values
    ),
    "Tagger.evaluate": lambda p: p.tagger.evaluate(p.dataset).values,
    "Tagger.evaluate, train": lambda p: (
        p.tagger.evaluate(p.dataset, train=read_dataset(p.train)).values
    ),
    "metrics.evaluate, names": lambda p: (
        metrics.evaluate(p.predicted(p.ranking), p.truth(), ks=KS).values
    ),
    "metrics.evaluate, tags": by_tags,
    "metrics.evaluate, ids": by_ids,
}
KNOWN_WAYS = {
    "train --test": lambda p: p.trained_on_known["test"]["values"],
    "train --validation": lambda p: p.trained_on_known["validation"]["values"],
    "evaluate --train": lambda p: evaluated(p, "--known-labels", "--train", p.train),
    "evaluate --model": lambda p: evaluated(p, "--known-labels", "--model", p.model),
    "evaluate MODEL": lambda p: parsed("evaluate", p.model, p.test, "--known-labels")["values"],
    "compare": lambda p: compared(p, "a", "--known-labels", "--train", p.train),
    "evaluate_dataset": lambda p: evaluate_dataset(p.tagger, p.dataset, known_labels=True).values,
    "Tagger.evaluate": lambda p: p.tagger.evaluate(p.dataset, known_labels=True).values,
}
SET_WAYS = {
    "evaluate a table": lambda p: parsed("evaluate", p.as_table("--sets"), p.test, "--sets")[
        "values"
    ],
    "evaluate": lambda p: parsed("evaluate", p.sets, p.test, "--sets")["values"],
    "evaluate --train": lambda p: parsed("evaluate", p.sets, p.test, "--sets", "--train", p.train)[
        "values"
    ],
    "evaluate MODEL": lambda p: parsed("evaluate", p.model, p.test, "--sets")["values"],
    "evaluate_dataset": lambda p: evaluate_dataset(p.tagger, p.dataset, sets=True).values,
    "Tagger.evaluate": lambda p: p.tagger.evaluate(p.dataset, sets=True).values,
    "metrics.evaluate_sets": lambda p: metrics.evaluate_sets(p.predicted(p.sets), p.truth()).values,
}


def check(found: dict[str, float], expected: dict[str, float], *, all_of: bool = True) -> None:
    common = {name: found[name] for name in expected if name in found}
    assert len(common) == len(expected) or not all_of
    assert {"P@1", "R@5"} & common.keys() or "micro-F1" in common
    assert common == pytest.approx({name: expected[name] for name in common}, abs=1e-12)


def test_the_data_is_awkward_enough(prepared):
    truth = prepared.truth()
    assert any(not row for row in truth)
    new = [[not prepared.is_known(label) for label in row] for row in truth]
    assert sum(map(sum, new)) > 20
    assert any(any(row) and not all(row) for row in new)
    pairs = prepared.dataset.filter_pairs
    assert (pairs is not None and len(pairs) > 40) == (prepared.test.name == "test")
    expected, known = expected_ranking(prepared), expected_ranking(prepared, known=True)
    assert known["R@5"] > expected["R@5"] + 0.05


@pytest.mark.parametrize("way", RANKING_WAYS)
def test_a_ranking(prepared, way):
    check(RANKING_WAYS[way](prepared), expected_ranking(prepared), all_of="compare" not in way)


@pytest.mark.parametrize("way", KNOWN_WAYS)
def test_a_ranking_over_known_labels(prepared, way):
    expected = expected_ranking(prepared, known=True)
    check(KNOWN_WAYS[way](prepared), expected, all_of="compare" not in way)


@pytest.mark.parametrize("way", SET_WAYS)
def test_sets(prepared, way):
    check(SET_WAYS[way](prepared), expected_sets(prepared))


def test_sets_over_known_labels(prepared):
    expected = expected_sets(prepared, known=True)
    options = ("--sets", "--known-labels", "--train", prepared.train)
    check(parsed("evaluate", prepared.sets, prepared.test, *options)["values"], expected)
    found = evaluate_dataset(prepared.tagger, prepared.dataset, sets=True, known_labels=True)
    check(dict(found.values), expected)


def test_texts_and_lists_of_names(prepared):
    """The texts and lists alone: there are no filter pairs, and P@1 is the score."""
    tagger, texts = prepared.tagger, prepared.inputs
    report = tagger.evaluate(texts, prepared.truth())
    tags = tagger.predict(texts, top_k=5)
    assert report.values == metrics.evaluate(tags, prepared.truth()).values
    assert report["P@1"] == pytest.approx(tagger.score(texts, prepared.truth()), abs=1e-12)


def test_what_training_data_adds_is_the_same_too(prepared):
    by_file = evaluated(prepared, "--train", prepared.train)
    train = read_dataset(prepared.train)
    by_tagger = evaluate_dataset(prepared.tagger, prepared.dataset, train=train).values
    assert {"PSP@1", "PSnDCG@5", "R[tail]@3"} <= by_file.keys()
    assert by_tagger == by_file


def test_skipping_empty_instances_is_the_same_too(prepared):
    skipped = evaluate_dataset(prepared.tagger, prepared.dataset, skip_empty=True)
    assert prepared.tagger.evaluate(prepared.dataset, skip_empty=True) == skipped
    assert evaluated(prepared, "--skip-empty") == skipped.values
    assert skipped.n_instances == sum(bool(row) for row in prepared.truth())


def test_the_table_says_what_was_done_and_how_many_there_were(prepared):
    n = sum(not prepared.is_known(label) for row in prepared.truth() for label in row)
    counted = {"n_labels": 3, "n_assignments": n, "left_out": False, "known_by": "the model"}
    report = evaluate_dataset(prepared.tagger, prepared.dataset)
    assert report.to_dict()["unknown_labels"] == counted
    start = f"3 labels of the truth ({n} assignments) are unknown to the model"
    assert report.notes[0] == f"{start} and count as missed; known_labels=True leaves them out."
    assert prepared.trained["test"]["unknown_labels"] == counted
    shown = " ".join(run("evaluate", prepared.model, prepared.test).split())
    assert f"{start} and count as missed; --known-labels leaves them out." in shown
    shown = " ".join(run("evaluate", prepared.model, prepared.test, "--known-labels").split())
    assert f"{start}: left out by --known-labels." in shown
    assert prepared.trained_on_known["test"]["notes"][0] == f"{start}: left out by --known-labels."


def test_a_prediction_file_does_not_say_what_a_model_knows(prepared):
    result = io.StringIO()
    with contextlib.redirect_stderr(result), pytest.raises(SystemExit) as caught:
        main(["evaluate", str(prepared.ranking), str(prepared.test), "--known-labels"])
    assert caught.value.code == 2
    assert "add --model MODEL, or --train DATA" in result.getvalue()
