"""Settings of generation."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting


@dataclass(frozen=True)
class DecodingConfig(Config):
    """How labels are generated; the defaults are the published way."""

    beam_width: int = setting(
        1, "Sequences kept per text; 1 is greedy: the likeliest symbol at each step.", at_least=1
    )
    no_repeat: bool = setting(False, "Generate no label twice.")
    stop_at: float | None = setting(
        None,
        "Stop where the empty label has this probability or more; None: always all steps. "
        "Sequences stop at their end symbol anyway.",
        above=0,
        at_most=1,
    )
    rank_by: str = setting(
        "best",
        "Score of a ranked label: its probability at the step where it is likeliest, or that of "
        "coming at any step, as if steps were independent.",
        choices=("best", "any"),
    )
