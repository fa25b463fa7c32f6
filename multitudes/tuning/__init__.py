"""Search for good settings within a time, and an honest answer whether they beat the default.

Names load on first use. Needs Optuna: ``pip install 'multitudes[tune]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.lazy import lazy_names

__all__ = [
    "Trial",
    "Tuner",
    "TuningConfig",
    "TuningResult",
    "parse_search",
]

if TYPE_CHECKING:
    from multitudes.tuning.result import TuningResult
    from multitudes.tuning.space import parse_search
    from multitudes.tuning.trial import Trial
    from multitudes.tuning.tuner import Tuner, TuningConfig
else:
    _HOMES = {
        "Trial": "multitudes.tuning.trial",
        "Tuner": "multitudes.tuning.tuner",
        "TuningConfig": "multitudes.tuning.tuner",
        "TuningResult": "multitudes.tuning.result",
        "parse_search": "multitudes.tuning.space",
    }
    __getattr__ = lazy_names(__name__, _HOMES)
