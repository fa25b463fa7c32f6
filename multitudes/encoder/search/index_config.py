"""IndexConfig: how labels are searched for."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting

AUTO, FLAT, HNSW, IVF_PQ = "auto", "flat", "hnsw", "ivf-pq"


@dataclass(frozen=True)
class IndexConfig(Config):
    """How the labels nearest to an embedding are found."""

    kind: str = setting(
        AUTO,
        "flat compares with every label; hnsw and ivf-pq look at some, need faiss, and miss a few; "
        "auto goes by the number of labels, and is flat wherever there is a GPU.",
        choices=(AUTO, FLAT, HNSW, IVF_PQ),
    )
    device: str = setting(
        AUTO,
        "Where flat search runs; auto: on a GPU where there is one.",
        choices=(AUTO, "cpu", "cuda"),
    )
    flat_up_to: int = setting(400_000, "Labels up to which auto is flat on a CPU.", at_least=0)
    hnsw_up_to: int = setting(4_000_000, "Labels up to which auto is hnsw.", at_least=0)
    neighbors: int = setting(32, "hnsw: links of each label.", at_least=2)
    build_width: int = setting(200, "hnsw: candidates looked at when a label is added.", at_least=1)
    search_width: int = setting(128, "hnsw: candidates looked at in a search.", at_least=1)
    n_lists: int | None = setting(
        None, "ivf-pq: lists the labels are dealt out to; None: 4 sqrt(n_labels).", at_least=1
    )
    n_probes: int = setting(64, "ivf-pq: lists looked at in a search.", at_least=1)
    over_fetch: int = setting(
        10, "ivf-pq: candidates, in multiples of top_k, that are compared exactly.", at_least=1
    )
    random_state: int = setting(0, "ivf-pq: of its clusterings.", at_least=0)
