"""Settings of the network: sizes, convolution, output layer, and how it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from multitudes.config import Config, among, between, setting
from multitudes.errors import ConfigError


@dataclass(frozen=True)
class NetworkConfig(Config):
    """The text encoder, the convolution over its memory, and the decoder.

    Defaults are the paper's for Eurlex-4K and AmazonCat-13K (section 3.4).
    """

    hidden: int = setting(
        512,
        "Size of each direction of the encoder, and of the decoder.",
        above=0,
        search=among(128, 256, 512),
    )
    layers: int = setting(2, "Layers of the encoder.", at_least=1)
    convolution: bool = setting(True, "Attend to convolved memory too (Eq. 7).")
    kernels: tuple[int, ...] = setting((3, 7, 15, 30), "Width of each convolution's kernel.")
    strides: tuple[int, ...] = setting((1, 1, 1, 3), "Stride of each convolution.")
    heads: int | None = setting(
        None, "Kernels that channels share among them; None: one for each channel.", at_least=1
    )
    bottleneck: int | None = setting(
        None, "Width of a layer before the output layer (Eq. 10); None: none.", at_least=1
    )
    global_embedding: bool = setting(
        False, "Feed a mix of the last label and the expected one (SGM)."
    )
    masked_softmax: bool = setting(
        False, "Give no probability to labels that were fed before (SGM)."
    )
    dropout: float = setting(
        0.2, "Share of values that dropout blanks.", at_least=0, at_most=1, search=between(0.0, 0.5)
    )
    n_steps: int | None = setting(
        None, "Labels to generate at most; None: as many as `steps_share` asks for.", at_least=1
    )
    steps_share: float = setting(
        0.995,
        "Share of the training texts whose labels must all fit, if `n_steps` is None; 1 for the "
        "largest count, as in the paper: one text with many labels makes all others slow.",
        above=0,
        at_most=1,
    )
    compile: Literal["off", "on", "graphs"] = setting(
        "off",
        "Training: compile the decoder's steps (torch.compile: slow to start), or capture all of a "
        "step as a CUDA graph.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.kernels) != len(self.strides) or not self.kernels:
            raise ConfigError(
                "NetworkConfig needs a stride for each kernel, got "
                f"kernels={self.kernels}, strides={self.strides}"
            )
        if min(*self.kernels, *self.strides) < 1:
            raise ConfigError(
                f"kernels and strides must be >= 1, got {self.kernels} and {self.strides}"
            )
        if self.heads is not None and 2 * self.hidden % self.heads:
            raise ConfigError(
                f"heads must divide the {2 * self.hidden} channels of the encoder "
                f"(2 * hidden), got {self.heads}"
            )
