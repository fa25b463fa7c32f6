"""The labels with the largest inner products, exactly: matrix products and top-k, in pieces."""

from __future__ import annotations

import torch

CELLS_ON_CPU = 1 << 25  # (query, label) scores in memory at once, 4 bytes each
CELLS_ON_GPU = 1 << 29


def exact_top_k(
    queries: torch.Tensor, vectors: torch.Tensor, top_k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best labels of each query, best first, ties to the smaller id.

    Parameters
    ----------
    queries : float32 tensor (n, d)
    vectors : float32 tensor (n_labels, d)
        On the device that does the work.
    top_k : int
        From 1 to n_labels.

    Returns
    -------
    scores, labels : float32 and int64 tensors (n, top_k), on the CPU
    """
    rows = max(1, cells_in_memory(vectors.device) // len(vectors))
    with torch.autocast(vectors.device.type, enabled=False):  # validation may run inside training
        parts = [
            _best_of(queries[start : start + rows].to(vectors.device) @ vectors.T, top_k)
            for start in range(0, len(queries), rows)
        ]
    if not parts:
        return torch.empty(0, top_k), torch.empty(0, top_k, dtype=torch.int64)
    scores, labels = zip(*parts, strict=True)
    return torch.cat(scores), torch.cat(labels)


def cells_in_memory(device: torch.device) -> int:
    """Scores to hold at once on a device."""
    if device.type != "cuda":
        return CELLS_ON_CPU
    free, _ = torch.cuda.mem_get_info(device)
    return min(CELLS_ON_GPU, max(1, free // 16))  # top-k needs room of its own


def best_first(scores: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and labels (n, k) with falling scores, ties by rising label id."""
    labels, order = labels.sort(dim=1)  # (n, k)
    scores, places = scores.gather(1, order).sort(dim=1, descending=True, stable=True)  # (n, k)
    return scores, labels.gather(1, places)


def _best_of(scores: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The best of all scores (n, n_labels), on the CPU."""
    width = min(top_k + 1, scores.shape[1])
    best, labels = best_first(*scores.topk(width, dim=1))  # (n, width)
    # topk picks any of equal scores: where a tie goes across the border, look at the whole row.
    tied = best[:, top_k - 1] == best[:, -1] if width > top_k else best[:, 0].new_zeros(0)
    rows = tied.nonzero().flatten()
    best, labels = best[:, :top_k], labels[:, :top_k]
    for row in rows.tolist():
        ranked, order = scores[row].sort(descending=True, stable=True)  # (n_labels,)
        best[row], labels[row] = ranked[:top_k], order[:top_k]
    return best.cpu(), labels.cpu()
