"""What one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting


@dataclass(frozen=True)
class Limits(Config):
    """Bounds that keep one request from taking the server away from all others."""

    max_texts: int = setting(1000, "Texts of one request.", at_least=1)
    max_characters: int = setting(2_000_000, "Characters of all its texts together.", at_least=1)
    max_top_k: int = setting(1000, "Labels of each text that may be asked for.", at_least=1)
