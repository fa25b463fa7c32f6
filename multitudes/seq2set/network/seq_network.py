"""SeqNetwork: encoder and decoder together, their steps compiled if so set, and their state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from multitudes.deep.weights import as_tensor, check_weights
from multitudes.errors import StoreError
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.network.decoder import Decoded, Decoder, OnStep
from multitudes.seq2set.network.text_encoder import Memory, TextEncoder
from multitudes.seq2set.words.batches import WordBatch
from multitudes.seq2set.words.start_vectors import RANGE, StartVectors
from multitudes.store import State, checks
from multitudes.types import FloatArray

KIND = "seq2set-network"
WORDS, LABELS = "encoder.words.weight", "decoder.labels.weight"
N_SPECIAL_SYMBOLS = 2  # symbols beside the labels: the empty label and the start symbol
MOST_STEPS = 1000  # of a stored network, unless it has more labels
Run = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class TrainingBatch:
    """Texts and their labels on a device.

    Parameters
    ----------
    words : WordBatch
    targets : int64 tensor (b, N)
        Labels in the order to learn, for sequences then the end symbol; -1 behind them.
    shares : float tensor (2,), optional
        For a part of a batch, which several processes share: see `BatchTerms`.
    """

    words: WordBatch
    targets: Tensor
    shares: Tensor | None = None


class SeqNetwork(nn.Module):
    """Texts in, a sequence of symbols out: labels, the empty label, -1 never.

    Parameters
    ----------
    start : StartVectors
        Embeddings before training.
    n_steps : int
        N, symbols to generate.
    config : NetworkConfig
    frozen_words : bool
        Whether word embeddings stay as they are.
    """

    no_decay = ("encoder.words", "decoder.labels")

    def __init__(
        self,
        start: StartVectors,
        *,
        n_steps: int,
        config: NetworkConfig,
        frozen_words: bool = False,
    ) -> None:
        super().__init__()
        self.config, self.n_labels = config, len(start.labels)
        words, labels = as_tensor(start.words), as_tensor(_with_special(start.labels))
        self.encoder = TextEncoder(words, config, frozen=frozen_words)
        self.decoder = Decoder(labels, n_steps=n_steps, config=config)
        self._initialize()
        self.unrolling = _Unrolling(config.compile)

    @property
    def empty(self) -> int:
        """The symbol of no label, which also ends a sequence."""
        return self.decoder.empty

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.decoder.output.weight.device

    def _initialize(self) -> None:
        """Uniform weights, as in the released code; embeddings keep where they start."""
        for name, parameter in self.named_parameters():
            if not name.startswith(self.no_decay):
                nn.init.uniform_(parameter, -RANGE, RANGE)

    def encode(self, words: WordBatch) -> Memory:
        """What the decoder attends to."""
        memory: Memory = self.encoder(words)
        return memory

    def forward(
        self,
        words: WordBatch,
        targets: Tensor | None = None,
        *,
        no_repeat: bool = False,
        on_step: OnStep | None = None,
    ) -> Decoded:
        """Generate with targets (b, N) fed (teacher forcing), or the network's own choice."""
        memory = self.encode(words)
        if targets is not None:
            targets = torch.where(targets < 0, self.empty, targets)  # (b, N)
        return self.decode(memory, targets, no_repeat=no_repeat, on_step=on_step)

    def decode(
        self,
        memory: Memory,
        targets: Tensor | None = None,
        *,
        no_repeat: bool = False,
        on_step: OnStep | None = None,
    ) -> Decoded:
        """The decoder's steps; those of training are compiled if so set."""
        if self.training and on_step is None and not no_repeat:
            return self.unrolling(self.decoder, memory, targets)
        return self.decoder.forward(*memory, targets, no_repeat=no_repeat, on_step=on_step)

    @property
    def label_embeddings(self) -> Tensor:
        """Embeddings (n_labels + 1, d) of labels and the empty label."""
        embeddings: Tensor = self.decoder.labels.weight[: self.decoder.start]
        return embeddings


def _with_special(labels: FloatArray) -> FloatArray:
    """Label vectors (n_labels + 2, d) with those of the empty label and the start symbol."""
    if torch.get_default_device().type == "meta":
        return np.broadcast_to(np.float32(0), (len(labels) + 2, labels.shape[1]))
    rng = np.random.default_rng(len(labels))
    special = rng.uniform(-RANGE, RANGE, (2, labels.shape[1]))
    return np.concatenate([labels, special.astype(np.float32)])


class _Unrolling:
    """Runs all steps of the decoder in training: as they are, or compiled.

    Under autocast weights are cast once for all steps, and the steps then run without it: a
    captured graph may not depend on autocast's cache, and without that each step would cast all
    weights again.

    Parameters
    ----------
    how : "off", "on" or "graphs"
        "on": compiled as one graph by torch.compile. Otherwise as they are: what is captured as a
        CUDA graph is more than the decoder, see `multitudes.seq2set.training_step`.
    """

    def __init__(self, how: str) -> None:
        self.how = how
        self._made: dict[Hashable, Run] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled, which cannot be copied."""
        return {"how": self.how, "_made": {}}

    def __call__(self, decoder: Decoder, memory: Memory, targets: Tensor | None) -> Decoded:
        """All steps of a batch; see `Decoder.forward`."""
        names, weights = zip(*decoder.named_parameters(), strict=True)
        kind = _product_type(memory.state, weights[0])
        if self.how != "on" and kind == weights[0].dtype:
            return decoder.forward(*memory, targets)
        inputs = [*memory] if targets is None else [*memory, targets]
        with torch.autocast(memory.state.device.type, enabled=False):
            run = self._run(decoder, names, kind, len(inputs))
            return Decoded(*run(*inputs, *weights))

    def _run(self, decoder: Decoder, names: Sequence[str], kind: torch.dtype, n_inputs: int) -> Run:
        run = _steps(decoder, names, kind, n_inputs)
        if self.how != "on":
            return run
        key = (id(decoder), kind, n_inputs)
        if key not in self._made:
            self._made[key] = torch.compile(run, dynamic=False, fullgraph=True)
        return self._made[key]


def _steps(decoder: Decoder, names: Sequence[str], kind: torch.dtype, n_inputs: int) -> Run:
    """The steps as a function of tensors alone: `n_inputs` of a batch, then the weights."""

    def run(*tensors: Tensor) -> tuple[Any, ...]:
        as_it_is = decoder.casts_itself  # here, because it depends on whether this is compiled
        values, bias, state, *targets = tensors[:n_inputs]
        weights = {
            name: weight if name.startswith(as_it_is) else weight.to(kind)
            for name, weight in zip(names, tensors[n_inputs:], strict=True)
        }
        arguments = (values.to(kind), bias, state, *targets)
        decoded: Decoded = torch.func.functional_call(decoder, weights, arguments)
        return tuple(decoded)

    return run


def _product_type(like: Tensor, weight: Tensor) -> torch.dtype:
    """Autocast's type where it is on, else that of the weights."""
    device = like.device.type
    on = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if on else weight.dtype


def network_state(network: SeqNetwork) -> State:
    """Settings and weights."""
    arrays = {name: value.cpu().numpy() for name, value in network.state_dict().items()}
    settings = {**network.config.to_dict(), "n_steps": network.decoder.n_steps}
    return State(KIND, settings, arrays)


def check_network(state: State, *, n_words: int) -> None:
    """Check weights and sizes of a stored network against each other, and its number of words."""
    checks.same(state.kind, KIND, "what the network is")
    config = checks.settings(NetworkConfig, state.config, "network")
    if config.layers + len(config.kernels) > len(state.arrays):
        raise StoreError(f"its weights are not those of {config.layers} layers")
    n_symbols, _ = checks.array(state, LABELS, "float32", (None, None)).shape
    checks.array(state, WORDS, "float32", (n_words, None))
    n_labels = n_symbols - N_SPECIAL_SYMBOLS
    if n_labels < 1:
        raise StoreError(f"it has {n_labels} labels")
    checks.count(state, "n_steps", at_least=1, at_most=max(MOST_STEPS, n_labels + 1))
    check_weights(state, lambda: _empty_network(state))


def _empty_network(state: State) -> SeqNetwork:
    """A network of the sizes of a stored one."""
    zero, (n_symbols, dim) = np.float32(0), state.arrays[LABELS].shape
    start = StartVectors(
        np.broadcast_to(zero, state.arrays[WORDS].shape),
        np.broadcast_to(zero, (n_symbols - N_SPECIAL_SYMBOLS, dim)),
        n_words_found=0,
        n_labels_found=0,
    )
    config = replace(NetworkConfig.from_dict(state.config), compile="off")
    return SeqNetwork(start, n_steps=state.config["n_steps"], config=config)


def network_from_state(state: State) -> SeqNetwork:
    """The network again, on the CPU, ready to predict."""
    network = _empty_network(state)
    tensors: dict[str, Any] = {
        name: torch.from_numpy(np.array(array)) for name, array in state.arrays.items()
    }
    network.load_state_dict(tensors)
    return network.eval()
