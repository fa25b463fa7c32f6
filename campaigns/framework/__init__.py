"""What all campaigns share: cases in child processes, findings, progress, results."""

from campaigns.framework.campaign import Campaign, Case
from campaigns.framework.command import main
from campaigns.framework.outcomes import (
    ALLOWED,
    OUTCOMES,
    Nameless,
    Outcome,
    SilentChange,
    Skipped,
    outcome_of,
)

__all__ = [
    "ALLOWED",
    "OUTCOMES",
    "Campaign",
    "Case",
    "Nameless",
    "Outcome",
    "SilentChange",
    "Skipped",
    "main",
    "outcome_of",
]
