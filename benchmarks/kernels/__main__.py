"""What each kernel and each hand-written gradient is worth: training speed with and without it.

    python -m benchmarks.kernels --seq2set EURLEX --prime MSDOCS --out RESULTS

Takes the folders that ``benchmarks.seq2set --prepare`` and ``benchmarks.prime --prepare`` write.
Each variant trains a few epochs; kernels are turned off by name (see `multitudes.deep.ops.switch`),
and some variants put plain torch in the place of more: cuDNN's GRU, a decoder that autograd
differentiates, such a decoder compiled, flash attention. The first epoch warms up and does not
count. Each finished variant is stored at once, and none is begun after ``--seconds``.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import torch

from benchmarks.kernels.plain import REPLACEMENTS
from benchmarks.machine import card_name
from benchmarks.report import rows_of
from benchmarks.report.storing import checksum, record_of, written
from multitudes.deep.ops.switch import OPERATIONS, kernels


class Variant(NamedTuple):
    """One way to compute the same: kernels that are off, and what takes the place of others."""

    name: str
    kernels: str = "on"
    plain: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


EAGER = ("network.compile=off",)
PRIME_OPS = ("gelu", "residual_norm", "short_attention")
SEQ2SET_OPS = tuple(name for name in OPERATIONS if name not in PRIME_OPS)


def without(*ops: str) -> str:
    return ",".join(f"-{op}" for op in ops)


HAND_WRITTEN = without(*(op for op in SEQ2SET_OPS if op != "matching"))
SEQ2SET = [
    Variant("all kernels"),
    *(Variant(f"without {op}", without(op)) for op in SEQ2SET_OPS),
    Variant("off but matching", HAND_WRITTEN),
    Variant("cuDNN", plain=("cudnn",)),
    Variant("cuDNN, autograd", plain=("cudnn", "autograd")),
    Variant("cuDNN, compiled decoder", plain=("cudnn", "compiled")),
    Variant("cuDNN, autograd, off but matching", HAND_WRITTEN, ("cudnn", "autograd")),
    Variant("cuDNN, compiled decoder, off but matching", HAND_WRITTEN, ("cudnn", "compiled")),
    Variant("all kernels, no graphs", changes=EAGER),
    Variant("off, no graphs", "off", (), EAGER),
    Variant("off, autograd, no graphs", "off", ("autograd",), EAGER),
]

PRIME = [
    Variant("all kernels"),
    *(Variant(f"without {op}", without(op)) for op in PRIME_OPS[:-1]),
    Variant("off", "off"),
    Variant("flash attention", "off", ("flash",)),
    Variant("padded transformers module", "off", (), ("backbone.attention=padded",)),
    Variant("compiled", changes=("backbone.compile=true",)),
]


def main() -> None:
    given = parse()
    begin = time.perf_counter()
    settings = {k: v for k, v in vars(given).items() if k not in ("out", "seq2set", "prime")}
    folders = [Path(given_one) for given_one in (given.seq2set, given.prime) if given_one]
    data = {folder.name: checksum(folder) for folder in folders}
    runs: dict[str, dict[str, Any]] = {}
    for name, variant, run in todo(given):
        if time.perf_counter() - begin > given.seconds:
            print(f"no time left for {name}: {variant.name}", flush=True)
            continue
        found = measured(variant, run)
        runs.setdefault(name, {})[variant.name] = {**variant._asdict(), **found}
        print(f"{name}: {variant.name}: {json.dumps(found)}", flush=True)
        record = record_of(
            given.name, rows_of(runs), data=data, settings=settings, card=card_name()
        )
        written(record, Path(given.out) / f"{given.name}.json")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seq2set", help="a prepared folder")
    parser.add_argument("--prime", help="a prepared folder")
    parser.add_argument("--backbone", default="minilm")
    parser.add_argument("--out", default="tmp/kernels")
    parser.add_argument("--name", default="kernels")
    parser.add_argument("--contestants", nargs="+", default=["otseq2set", "seq2seq"])
    parser.add_argument("--prime-contestants", nargs="+", default=["prime"])
    parser.add_argument("--variants", nargs="+", help="only those whose name is one of these")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--prime-epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--prime-batch-size", type=int, default=3200)
    parser.add_argument("--first", type=int, help="only this many instances")
    parser.add_argument("--seconds", type=float, default=1e9)
    return parser.parse_args()


Run = Callable[[Variant], Any]


def todo(given: argparse.Namespace) -> Iterator[tuple[str, Variant, Run]]:
    """All runs, in order: what they are called, the variant, and what trains it."""

    def chosen(variants: list[Variant]) -> list[Variant]:
        return [v for v in variants if given.variants is None or v.name in given.variants]

    if given.seq2set:
        fit = seq2set_run(given)
        for name in given.contestants:
            for variant in chosen(SEQ2SET):
                yield name, variant, lambda v, name=name: fit(name, v)
    if given.prime:
        fit_prime = prime_run(given)
        for name in given.prime_contestants:
            for variant in chosen(PRIME):
                yield name, variant, lambda v, name=name: fit_prime(name, v)


def seq2set_run(given: argparse.Namespace) -> Callable[[str, Variant], Any]:
    from benchmarks.seq2set.contestants import contestant
    from benchmarks.seq2set.problem import Problem
    from multitudes.seq2set import Seq2SetTraining, WordsConfig

    problem = Problem.load(Path(given.seq2set))
    problem = problem.first(given.first) if given.first else problem
    train, _ = problem.split()

    def fit(name: str, variant: Variant) -> Any:
        model = contestant(
            name,
            words=WordsConfig(vectors=problem.vectors, dim=100, max_length=256),
            training=Seq2SetTraining(epochs=given.epochs),
            batch_size=given.batch_size,
            changes=["network.compile=graphs", *variant.changes],
        )
        return model.fit(train.train, train.Y, label_texts=problem.label_texts).history_

    return fit


def prime_run(given: argparse.Namespace) -> Callable[[str, Variant], Any]:
    from benchmarks.prime.contestants import model_for
    from benchmarks.prime.problem import Problem

    problem = Problem.load(Path(given.prime))
    problem = problem.first(given.first) if given.first else problem
    arguments = argparse.Namespace(
        backbone=given.backbone, max_length=32, compile=False, epochs=given.prime_epochs,
        learning_rate=3e-4, batch_size=given.prime_batch_size, set=[],
    )  # fmt: skip

    def fit(name: str, variant: Variant) -> Any:
        arguments.set = list(variant.changes)
        model = model_for(name, arguments, random_state=0)
        model._finish = lambda *given: None  # no index: nothing is predicted
        return model.fit(problem.train, problem.Y, label_texts=problem.labels).history_

    return fit


def measured(variant: Variant, run: Run) -> dict[str, Any]:
    """Speed of the epochs after the first, or what went wrong."""
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    try:
        with kernels(variant.kernels), replaced(variant.plain):
            epochs = run(variant).epochs
    except Exception as error:  # noqa: BLE001 (the others are to be measured)
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    finally:
        gc.collect()
        torch._dynamo.reset()
        if on_gpu:
            torch.cuda.empty_cache()
    steady = epochs[1:] or epochs
    return {
        "instances_per_second": round(max(e.instances_per_second for e in steady)),
        "epoch_seconds": [round(e.seconds, 3) for e in epochs],
        "last_loss": round(epochs[-1].terms["loss"], 4),
        "seconds": round(time.perf_counter() - start, 1),
        "peak_gb": round(torch.cuda.max_memory_allocated() / 2**30, 2) if on_gpu else None,
    }


@contextmanager
def replaced(names: tuple[str, ...]) -> Iterator[None]:
    """Plain torch in the place of what these names stand for."""
    with ExitStack() as undo:
        for name in names:
            for target, attribute, value in REPLACEMENTS[name]():
                undo.enter_context(patch.object(target, attribute, value))
        yield


if __name__ == "__main__":
    main()
