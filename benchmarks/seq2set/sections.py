"""Where the time of a training step goes: encoder, decoder, loss, each with its gradients.

    python -m benchmarks.seq2set.sections --compile graphs

Generated texts and labels of about the size of eurlex-titles. Each part runs alone, a number of
times in a row, on inputs of its own; with ``--compile graphs`` only whole steps are captured, so
that the parts then show how many kernels are launched, not how long they take in a step. The
training loop also draws batches, clips gradients and updates weights. Operations are those of
torch, forwards and backwards: they are counted without a GPU, too.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.report import show
from multitudes.deep.texts.tokens import TokenRows
from multitudes.seq2set.losses import transport
from multitudes.seq2set.losses.step_matching import Matcher
from multitudes.seq2set.network import decoder, decoder_loop, padded_gru
from multitudes.seq2set.network.seq_network import SeqNetwork, TrainingBatch
from multitudes.seq2set.network.text_encoder import Memory
from multitudes.seq2set.presets import seq2set_preset
from multitudes.seq2set.training_step import BatchTerms, TrainingStep
from multitudes.seq2set.words.batches import LENGTHS_PER_DOUBLING, on_device, word_batch
from multitudes.seq2set.words.start_vectors import StartVectors

NAMES = ("seq2seq", "seq2seq+lc", "sgm", "bm", "bm+lc", "bm+ot", "otseq2set")
ONE_KERNEL = (
    *((module, name) for module in (padded_gru, decoder_loop)
      for name in ("cell_forward", "cell_backward")),
    (decoder_loop, "gradient_of_keys"),
    *((decoder_loop, name) for name in ("attend", "attend_backward")),  # two in fact
    (decoder, "choose_labels"),
    (transport, "transport_distances"),
)  # fmt: skip
NO_KERNEL = ("detach", "promote_types", "empty", "_unsafe_view", "new_empty", "lift_fresh")


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
    for what in ("milliseconds", "operations"):
        columns = list(next(iter(found.values()))[what])
        rows = [[name, *(f"{one[what][c]:g}" for c in columns)] for name, one in found.items()]
        show(f"{what}, {device}, compile={given.compile}", ["", *columns], rows)
    print(json.dumps(found))


def sections(
    name: str, given: argparse.Namespace, device: torch.device
) -> dict[str, dict[str, float]]:
    """Milliseconds and operations of each part of one contestant's step."""
    preset = seq2set_preset(name)
    config = replace(preset.network, compile=given.compile)
    loss = replace(preset.loss, scheme="all")
    rng = np.random.default_rng(0)
    batch = made_batch(rng, given, device, sequence=preset.objective == "sequence")
    vectors = [
        rng.standard_normal((n, 100)).astype(np.float32) for n in (10_000, given.labels)
    ]  # of words, of labels
    torch.manual_seed(0)
    start = StartVectors(*vectors, n_words_found=0, n_labels_found=0)
    network = SeqNetwork(start, n_steps=given.steps, config=config).to(device).train()
    optimizer = torch.optim.AdamW(network.parameters(), fused=device.type == "cuda")
    fixed = Fixed(network, batch)

    def encode() -> Tensor:
        return _sum(network.encode(batch.words))

    def decode() -> Tensor:
        fed = batch.targets.clamp(min=0) if preset.objective == "sequence" else None
        return network.decode(fixed.memory, fed).states.sum()

    def lose() -> Tensor:
        return terms.of_decoded(fixed.decoded, batch.targets)["loss"]

    def whole() -> Tensor:
        return step(batch)["loss"]

    def plain() -> Tensor:
        words = batch.words
        return terms(words.ids, words.lengths, batch.targets, words.host_lengths)["loss"]

    with Matcher("all") as matcher:
        terms = BatchTerms(network, matcher, objective=preset.objective, loss=loss)
        step = TrainingStep(terms)
        parts: dict[str, Callable[[], Tensor]] = {
            "encoder": encode, "decoder": decode, "loss": lose, "step": whole,
        }  # fmt: skip
        # What is captured has no operations of its own.
        counts = {
            part: operations(plain if part == "step" else made, network)
            for part, made in parts.items()
        }
        times = {part: milliseconds(made, network, given.rounds) for part, made in parts.items()}

        def update() -> None:
            torch.nn.utils.clip_grad_norm_(network.parameters(), 8.0)
            optimizer.step()

        whole().backward()
        times["update"] = milliseconds(update, network, given.rounds, backward=False)
    return {"milliseconds": times, "operations": counts}


class Operations(TorchDispatchMode):
    """Counts the operations of torch that compute something; views do not."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def once(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted as one operation."""

        def counted(*arguments: Any, **options: Any) -> Any:
            before = self.n
            result = function(*arguments, **options)
            self.n = before + 1
            return result

        return counted

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.n += not (func.is_view or func.__name__.startswith(NO_KERNEL))
        return func(*args, **(kwargs or {}))


def operations(run: Callable[[], Tensor], network: SeqNetwork) -> int:
    """Of a run and its gradients; what is one kernel on a GPU counts as one."""
    with Operations() as seen, ExitStack() as undo, precision(network):
        for module, name in ONE_KERNEL:
            undo.enter_context(patch.object(module, name, seen.once(getattr(module, name))))
        run().backward()
    network.zero_grad()
    return seen.n


class Fixed:
    """What parts read, cut off from what made it: memory and the decoder's states."""

    def __init__(self, network: SeqNetwork, batch: TrainingBatch) -> None:
        with torch.no_grad(), precision(network):
            memory = network.encode(batch.words)
        self.memory = Memory(
            memory.values.detach().requires_grad_(),
            memory.bias,
            memory.state.detach().requires_grad_(),
        )
        with torch.no_grad(), precision(network):
            decoded = network.decode(self.memory)  # casts weights, which the steps do not
        self.decoded = decoded._replace(states=decoded.states.detach().requires_grad_())


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
    few = LENGTHS_PER_DOUBLING[given.compile]
    words = word_batch(rows, round_up_to=8, per_doubling=few, device=device)
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
