"""The demo: everything from texts to tags, on a generated corpus, in under a minute."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from multitudes.data import Dataset, make_catalogue, split
from multitudes.metrics import Report
from multitudes.tagger import Tagger, evaluate_dataset

N_SHOWN = 6


@dataclass(frozen=True)
class Step:
    """Something to show: some lines and, below them, a report."""

    text: str
    report: Report | None = None


def steps(
    *,
    n_instances: int = 20_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    output: Path | None = None,
) -> Iterator[Step]:
    """Run the demo step by step; each is yielded when it is done."""
    train, test = split(
        make_catalogue(n_instances, random_state=random_state).dataset,
        test_size=0.2,
        random_state=random_state,
    )
    yield Step(
        f"A catalogue of {len(train):,} texts to learn from and {len(test):,} to test on, "
        f"{train.n_labels:,} labels."
    )
    tagger = Tagger("xr-linear", random_state=random_state, n_jobs=n_jobs)
    started = time.perf_counter()
    tagger.fit(train)
    yield Step(
        f"Trained in {time.perf_counter() - started:.1f} s "
        "(the first run on a machine also compiles the kernels).\n"
    )
    report = evaluate_dataset(tagger, test)
    yield Step("How often the best 1, 3 and 5 labels are right, in percent:\n", report)
    yield Step(f"\nTexts it has never seen (* marks the right labels):\n\n{tagged(tagger, test)}")
    if output is not None:
        tagger.save(output)
        yield Step(f"\nSaved to {output}.")
    yield Step(next_steps(output))


def tagged(tagger: Tagger, test: Dataset) -> str:
    """Return the first few texts, each with its three best labels below."""
    some = test[:N_SHOWN]
    assert some.texts is not None
    lines = []
    for i, tags in enumerate(tagger.predict(some.texts, top_k=3)):
        right = set(some.labels_of(i))
        labels = [f"{tag.label}{'*' * (tag.label in right)} {tag.score:.2f}" for tag in tags]
        lines += [f"  {some.texts[i]}", f"    -> {' | '.join(labels)}"]
    return "\n".join(lines)


def next_steps(output: Path | None) -> str:
    """Return what to try next, as commands to copy."""
    model = "demo-model" if output is None else str(output)
    save = f"\n  multitudes demo -o {model}" if output is None else ""
    return f"""
Try next:{save}
  multitudes predict {model} --text "leather belt with a brass buckle"
  multitudes inspect {model} --tree
  multitudes train your.jsonl -o model        # {{"text": "...", "labels": ["a", "b"]}} per line"""
