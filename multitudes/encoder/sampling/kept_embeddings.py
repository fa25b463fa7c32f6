"""The embeddings that training steps made anyway, kept on their device for the clustering."""

from __future__ import annotations

from collections.abc import Callable

import torch

Snapshot = Callable[[], torch.Tensor]
"""Embeddings as they were when it was taken, (n, d); called later, in another thread."""


class KeptEmbeddings:
    """The latest embedding of each instance, float16 (n_instances, d); zero before the first.

    Nothing here makes the device wait: writing is one kernel, and a snapshot is a copy on the
    device that a background thread works with.
    """

    def __init__(self, n_instances: int) -> None:
        self.n_instances = n_instances
        self.values: torch.Tensor | None = None  # (n_instances, d) on the device of the embeddings

    @torch.no_grad()
    def write(self, instances: torch.Tensor, embeddings: torch.Tensor) -> None:
        """Keep the embeddings (b, d) of distinct instances (b,), both on one device."""
        if self.values is None or self.values.device != embeddings.device:
            self.values = self._moved_to(embeddings)
        # A step that went wrong is for training to notice, not for the clustering beside it.
        finite = embeddings.detach().to(torch.float16).nan_to_num()
        self.values.index_copy_(0, instances, finite)

    def snapshot(self) -> Snapshot:
        """The embeddings of this moment; what is written later does not change them."""
        if self.values is None:
            raise RuntimeError("no embeddings were kept yet")
        copy = self.values.clone()
        if copy.device.type != "cuda":
            return lambda: copy
        copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        copied.record()

        def take() -> torch.Tensor:
            # This thread works on a stream of its own: on training's it would hold up its kernels.
            stream = torch.cuda.Stream(copy.device)  # type: ignore[no-untyped-call]
            torch.cuda.set_stream(stream)
            stream.wait_event(copied)
            copy.record_stream(stream)
            return copy

        return take

    def _moved_to(self, embeddings: torch.Tensor) -> torch.Tensor:
        if self.values is not None:
            return self.values.to(embeddings.device)
        shape = (self.n_instances, embeddings.shape[1])
        return torch.zeros(shape, dtype=torch.float16, device=embeddings.device)
