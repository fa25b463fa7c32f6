"""One training step of Prime on a GPU: its milliseconds, and its share of the card's matrix rate.

    python -m benchmarks.prime.step --data FOLDER --contestants prime prime-lite --out RESULTS

    python -m benchmarks.prime.step --save-encoder FOLDER

Takes a folder that ``benchmarks.prime --prepare`` wrote. The encoder has MiniLM-L6's sizes and
random weights: this is about speed. Batches are drawn once and lie on the device, so that what is
timed is the device's and the launching host's work alone; `benchmarks.prime` times whole epochs.
The operations counted are those of the matrix products of the batch's own tokens, forwards and
backwards.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.machine import card_name
from benchmarks.prime.contestants import contestant
from benchmarks.prime.measure import flops_of, matrix_rate, sizes_of
from benchmarks.prime.problem import Problem
from benchmarks.report import rows_of, show
from benchmarks.report.storing import checksum, record_of, written
from multitudes.deep.devices import choose_device, computing_in, tensor_core_products
from multitudes.deep.ops.switch import kernels
from multitudes.deep.training import TrainingConfig
from multitudes.deep.training.optimizer import make_optimizer
from multitudes.encoder.backbone.model import Backbone, BackboneConfig
from multitudes.encoder.fitting import PrimeConfig, TrainingTexts, start_network
from multitudes.encoder.network import PrimeNetwork, StepInput, put_on_device
from multitudes.encoder.sampling import BatchSampler

VOCABULARY, LAYERS, DIM, HEADS, WIDE = 30_522, 6, 384, 12, 1536  # MiniLM-L6's
PARTS = ("encoder", "objective", "backward", "update")


def random_minilm(
    *, max_length: int = 32, layers: int = LAYERS, compiled: bool = False
) -> Backbone:
    """An encoder of MiniLM-L6's sizes with random weights, and a tokenizer of no words."""
    from tokenizers import Tokenizer, models
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(0)
    build: Any = BertModel
    model = build(
        BertConfig(
            vocab_size=VOCABULARY, hidden_size=DIM, num_hidden_layers=layers,
            num_attention_heads=HEADS, intermediate_size=WIDE, max_position_embeddings=512,
        )
    )  # fmt: skip
    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    ids = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102}
    wrap: Any = PreTrainedTokenizerFast
    backend = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
    )
    tokenizer = wrap(tokenizer_object=backend, **special)
    config = BackboneConfig(
        max_length=max_length, label_max_length=32, pooling="mean", compile=compiled
    )
    return Backbone(model, tokenizer, config)


class Steps:
    """A network, its optimizer and some batches on the device.

    Parameters
    ----------
    problem : Problem
    name : str
        A preset.
    batch_size, n_batches : int
    compiled : bool
        As `backbone.compile`.
    layers : int
        Of the encoder.
    """

    def __init__(
        self,
        problem: Problem,
        name: str,
        *,
        batch_size: int = 3200,
        n_batches: int = 8,
        compiled: bool = False,
        layers: int = LAYERS,
    ) -> None:
        model = contestant(
            name,
            backbone=BackboneConfig(),
            training=TrainingConfig(),
            batch_size=batch_size,
            changes=["sampler.clustered=false"],
        )
        backbone = random_minilm(compiled=compiled, layers=layers).to(choose_device("auto"))
        settings = PrimeConfig(model.prototypes, model.loss, model.sampler, model.training)
        texts = TrainingTexts(problem.train, problem.labels, problem.Y)
        self.network: PrimeNetwork
        self.network, _ = start_network(texts, backbone, settings)
        self.network.train()
        self.optimizer = make_optimizer(self.network, settings.training)
        sampler = BatchSampler(problem.Y, model.sampler, epochs=3, random_state=0)
        self.batch_size = batch_size
        self.batches: list[StepInput] = []
        self.flops = 0.0
        for number, batch in zip(range(n_batches), sampler.batches(0, 0), strict=False):
            lengths = [
                problem.train.lengths[batch.instances], problem.labels.lengths[batch.labels]
            ]  # fmt: skip
            self.flops += flops_of(self.network, sizes_of(*lengths)) / n_batches
            self.batches.append(
                put_on_device(
                    batch, problem.train, problem.labels, device=backbone.device,
                    max_length=32 if compiled else None, random_state=number,
                )
            )  # fmt: skip

    def step(self, batch: StepInput, marks: list[Any] | None = None) -> torch.Tensor:
        """One step, as the training loop makes it; `marks` gets an event between parts."""
        mark = (lambda: None) if marks is None else (lambda: marks.append(event()))
        network = self.network
        mark()
        with computing_in("bf16", network.backbone.device), marked_encoder(network, mark):
            terms, _ = network(batch)
        mark()
        terms["loss"].backward()
        mark()
        self.optimizer.step()
        self.optimizer.zero_grad()
        mark()
        loss: torch.Tensor = terms["loss"].detach()
        return loss

    def milliseconds(self, rounds: int = 3, warm_up: int = 1) -> dict[str, float]:
        """Median time of a step, the host's time of launching it, and that of each part."""
        for _ in range(warm_up):
            for batch in self.batches:
                self.step(batch)
        wait()
        times, hosts = [], []
        for _ in range(rounds):
            begin = time.perf_counter()
            for batch in self.batches:
                loss = self.step(batch)
            hosts.append(time.perf_counter() - begin)
            wait()
            times.append(time.perf_counter() - begin)
        parts = []
        for batch in self.batches:
            marks: list[Any] = []
            self.step(batch, marks)
            wait()
            parts.append([a.elapsed_time(b) for a, b in pairwise(marks)])
        n = len(self.batches)
        found: dict[str, float] = dict(
            zip(PARTS, np.median(parts, axis=0).round(2).tolist(), strict=True)
        )
        return {
            "ms": round(1e3 * float(np.median(times)) / n, 2),
            "launched_in": round(1e3 * float(np.median(hosts)) / n, 2),
            **found,
            "loss": round(float(loss), 4),
        }


class marked_encoder:  # noqa: N801 (a context)
    """Marks the end of the encoder within a network's forward pass."""

    def __init__(self, network: PrimeNetwork, mark: Any) -> None:
        self.hook = network.backbone.register_forward_hook(lambda *given: mark())

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.hook.remove()


def event() -> Any:
    made = torch.cuda.Event(enable_timing=True) if torch.cuda.is_available() else HostEvent()
    made.record()
    return made


class HostEvent:
    """A moment, for a dry run without a GPU."""

    def record(self) -> None:
        """Take the time."""
        self.at = time.perf_counter()

    def elapsed_time(self, later: HostEvent) -> float:
        """Milliseconds between two moments."""
        return 1e3 * (later.at - self.at)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=".", help="a prepared folder")
    parser.add_argument("--contestants", nargs="+", default=["prime", "prime-lite"])
    parser.add_argument("--batch-size", type=int, default=3200)
    parser.add_argument("--first", type=int, help="only this many instances")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], help="kernels to turn off, in turn")
    parser.add_argument("--out", default="tmp/prime")
    parser.add_argument("--name", default="prime-step", help="of the file of results")
    parser.add_argument("--save-encoder", help="write the random encoder into this folder, and end")
    given = parser.parse_args()
    if given.save_encoder:
        folder = Path(given.save_encoder)
        folder.mkdir(parents=True)
        random_minilm().write_folder(folder)
        return
    problem = Problem.load(Path(given.data))
    problem = problem.first(given.first) if given.first else problem
    rate = matrix_rate()
    runs = {}
    with tensor_core_products(True):
        for name in given.contestants:
            steps = Steps(problem, name, batch_size=given.batch_size, compiled=given.compile)
            for setting in ("on", *(f"-{operation}" for operation in given.without)):
                with kernels(setting):
                    runs[f"{name}, kernels {setting}"] = run = measured(steps, rate)
                print(f"{name}, kernels {setting}: {json.dumps(run)}", flush=True)
    columns = list(next(iter(runs.values())))
    rows = [[name, *(f"{run[c]:g}" for c in columns)] for name, run in runs.items()]
    show("a training step", ["", *columns], rows)
    settings = {
        "batch_size": given.batch_size,
        "compile": given.compile,
        "matrix_rate_tflops": None if rate is None else round(rate / 1e12),
    }
    data = {problem.name: checksum(Path(given.data))}
    record = record_of(given.name, rows_of(runs), data=data, settings=settings, card=card_name())
    written(record, Path(given.out) / f"{given.name}.json")


def measured(steps: Steps, rate: float | None) -> dict[str, float]:
    """Times of a step, instances a second and the share of the matrix rate."""
    found = steps.milliseconds()
    seconds = found["ms"] / 1e3
    found["instances_per_second"] = round(steps.batch_size / seconds)
    found["gflop"] = round(steps.flops / 1e9)
    if rate is not None:
        found["share"] = round(steps.flops / seconds / rate, 3)
    return found


if __name__ == "__main__":
    main()
