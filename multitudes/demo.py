"""The demo: the whole way from texts to tags, on a corpus of our own, in under a minute."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multitudes.data import Dataset, catalogue, split
from multitudes.metrics import Report
from multitudes.tagger import Tagger, evaluate_on

N_SHOWN = 6
TEXT_WIDTH = 60


@dataclass(frozen=True)
class Step:
    """Something to show: a sentence and, with it, a report or a table."""

    text: str
    report: Report | None = None
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)


def steps(
    *,
    n_instances: int = 20_000,
    seed: int = 0,
    n_threads: int | None = None,
    output: Path | None = None,
) -> Iterator[Step]:
    """Run the demo step by step; each is yielded when it is done."""
    train, test = split(catalogue(n_instances, seed=seed).dataset, test_size=0.2, seed=seed)
    yield Step(
        f"A catalogue of {len(train):,} texts to learn from and {len(test):,} to test on, "
        f"{train.n_labels:,} labels."
    )
    tagger = Tagger("xr-linear", seed=seed, n_threads=n_threads)
    started = time.perf_counter()
    tagger.fit_dataset(train)
    yield Step(
        f"Trained in {time.perf_counter() - started:.1f} s, with the kernels compiled on first "
        "use.\n"
    )
    report = evaluate_on(tagger, test)
    yield Step("How often the best labels are right, in percent:\n", report=report)
    yield Step(
        "\nTexts it has never seen (* marks the right labels):\n",
        header=("text", "labels and scores"),
        rows=tagged_rows(tagger, test),
    )
    if output is not None:
        tagger.save(output)
        yield Step(f"\nSaved to {output}.")
    yield Step(next_steps(output))


def tagged_rows(tagger: Tagger, test: Dataset) -> list[tuple[str, str]]:
    """The first few texts, and their three best labels."""
    some = test[:N_SHOWN]
    assert some.texts is not None
    rows = []
    for i, tags in enumerate(tagger.predict(some.texts, top_k=3)):
        right = set(some.labels_of(i))
        labels = [f"{tag.label}{'*' if tag.label in right else ''} {tag.score:.2f}" for tag in tags]
        text = some.texts[i]
        shown = text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1] + "…"
        rows.append((shown, ", ".join(labels)))
    return rows


def next_steps(output: Path | None) -> str:
    """What to try next, as commands to copy."""
    model = "demo-model" if output is None else str(output)
    save = f"\n  multitudes demo -o {model}" if output is None else ""
    return f"""
Try next:{save}
  multitudes predict {model} --text "leather belt with a brass buckle"
  multitudes inspect {model} --tree
  multitudes train your.jsonl -o model        # {{"text": "...", "labels": ["a", "b"]}} per line"""
