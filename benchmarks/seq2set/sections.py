"""Where the time of a training step goes: encoder, decoder, loss, each with its gradients.

    python -m benchmarks.seq2set.sections --compile graphs

Generated texts and labels of about the size of eurlex-titles. Each part runs alone, a number of
times in a row, on inputs of its own, so that the parts need not add up to a step of the training
loop, which also draws batches, clips gradients and updates weights.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.report import show
from multitudes.encoder.tokens import TokenRows
from multitudes.seq2set.fitting import FitConfig, step_terms
from multitudes.seq2set.label_vectors import StartVectors
from multitudes.seq2set.loss_config import SetLossConfig
from multitudes.seq2set.matching import Matcher
from multitudes.seq2set.network import SeqNetwork, TrainingBatch
from multitudes.seq2set.network_config import NetworkConfig
from multitudes.seq2set.presets import seq2set_preset
from multitudes.seq2set.text_encoder import Memory
from multitudes.seq2set.word_batches import on_device, word_batch

NAMES = ("seq2seq", "seq2seq+lc", "sgm", "bm", "bm+lc", "bm+ot", "otseq2set")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--contestants", nargs="+", default=list(NAMES))
    parser.add_argument("--compile", choices=("off", "on", "graphs"), default="off")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--words", type=int, default=40, help="of the longest text")
    parser.add_argument("--steps", type=int, default=26)
    parser.add_argument("--labels", type=int, default=4047)
    parser.add_argument("--mean-labels", type=float, default=6.4)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = {name: sections(name, given, device) for name in given.contestants}
    columns = list(next(iter(found.values())))
    rows = [[name, *(f"{one[c]:.2f}" for c in columns)] for name, one in found.items()]
    show(f"milliseconds, {device}, compile={given.compile}", ["", *columns], rows)
    print(json.dumps(found))


def sections(name: str, given: argparse.Namespace, device: torch.device) -> dict[str, float]:
    """Milliseconds of each part of one contestant's step."""
    preset = seq2set_preset(name)
    config = replace(preset.network or NetworkConfig(), compile=given.compile)
    loss = replace(preset.loss or SetLossConfig(), scheme="all")
    rng = np.random.default_rng(0)
    batch = made_batch(rng, given, device, sequence=preset.objective == "sequence")
    vectors = [
        rng.standard_normal((n, 100)).astype(np.float32) for n in (10_000, given.labels)
    ]  # of words, of labels
    torch.manual_seed(0)
    start = StartVectors(*vectors, n_words_found=0, n_labels_found=0)
    network = SeqNetwork(start, n_steps=given.steps, config=config).to(device).train()
    optimiser = torch.optim.AdamW(network.parameters(), fused=device.type == "cuda")
    fixed = Fixed(network, batch)
    fit = FitConfig.__new__(FitConfig)  # only what a step reads
    for field, value in (("network", config), ("loss", loss), ("objective", preset.objective)):
        object.__setattr__(fit, field, value)

    def encode() -> Tensor:
        return _sum(network.encode(batch.words))

    def decode() -> Tensor:
        fed = batch.targets.clamp(min=0) if preset.objective == "sequence" else None
        return network.decode(fixed.memory, fed).states.sum()

    def lose() -> Tensor:
        network.forward = fixed.decoded
        try:
            return step_terms(network, batch, fit, matcher)["loss"]
        finally:
            del network.forward

    def whole() -> Tensor:
        loss = step_terms(network, batch, fit, matcher)["loss"]
        return loss

    with Matcher("all") as matcher:
        parts: dict[str, Callable[[], Tensor]] = {
            "encoder": encode, "decoder": decode, "loss": lose, "step": whole,
        }  # fmt: skip
        times = {part: milliseconds(made, network, given.rounds) for part, made in parts.items()}

        def update() -> None:
            torch.nn.utils.clip_grad_norm_(network.parameters(), 8.0)
            optimiser.step()

        (whole()).backward()
        times["update"] = milliseconds(update, network, given.rounds, backward=False)
    return times


class Fixed:
    """What parts read, cut off from what made it: memory and the decoder's states."""

    def __init__(self, network: SeqNetwork, batch: TrainingBatch) -> None:
        with torch.no_grad(), precision(network):
            memory = network.encode(batch.words)
        grows = [part.is_floating_point() for part in memory]
        self.memory = Memory(
            *(part.detach().requires_grad_(g) for part, g in zip(memory, grows, strict=True))
        )
        self.memory.bias.requires_grad_(False)
        with torch.no_grad(), precision(network):
            decoded = network.decoder.forward(*self.memory)
        self.states = decoded.states.detach().requires_grad_()
        self.labels = decoded.labels

    def decoded(self, *_: Any) -> Any:
        return type("Decoded", (), {"states": self.states, "labels": self.labels})


def made_batch(
    rng: np.random.Generator, given: argparse.Namespace, device: torch.device, *, sequence: bool
) -> TrainingBatch:
    """Texts of half the longest length and more; labels as a Poisson draw says."""
    lengths = np.sort(rng.integers(given.words // 2, given.words + 1, given.batch))[::-1]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = TokenRows(rng.integers(1, 10_000, offsets[-1]), offsets)
    counts = np.clip(rng.poisson(given.mean_labels, given.batch), 1, given.steps - 1)
    targets = np.full((given.batch, given.steps), -1)
    for row, count in zip(targets, counts, strict=True):
        row[:count] = rng.choice(given.labels, count, replace=False)
        if sequence:
            row[count] = given.labels  # the end symbol
    words = word_batch(rows, round_up_to=8, doubling=given.compile != "off", device=device)
    return TrainingBatch(words, on_device(torch.from_numpy(targets), device))


def milliseconds(
    run: Callable[[], Any], network: SeqNetwork, rounds: int, *, backward: bool = True
) -> float:
    """Mean time of a run and its gradients; the first three warm up."""
    for i in range(3 + rounds):
        if i == 3:
            wait()
            start = time.perf_counter()
        with precision(network):
            result = run()
        if backward:
            result.backward()
            network.zero_grad()
    wait()
    return round(1e3 * (time.perf_counter() - start) / rounds, 3)


def precision(network: SeqNetwork) -> Any:
    """bf16 products on a GPU, as the training loop has them."""
    if network.device.type != "cuda":
        return nullcontext()
    return torch.autocast("cuda", torch.bfloat16)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _sum(memory: Memory) -> Tensor:
    return memory.values.sum() + memory.state.sum()


if __name__ == "__main__":
    main()
