"""Stage 6, `Predictions` to numbers: metrics at k and of sets, intervals and paired tests."""

from multitudes.metrics.at_k import (
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    psr_at_k,
    recall_at_k,
)
from multitudes.metrics.bootstrap import Resampling
from multitudes.metrics.by_frequency import (
    FrequencyBins,
    frequency_bins,
    precision_by_frequency,
)
from multitudes.metrics.compare import Comparison, Difference, compare, compare_sets
from multitudes.metrics.macro import (
    coverage_at_k,
    macro_f1_at_k,
    macro_precision_at_k,
    macro_recall_at_k,
)
from multitudes.metrics.propensity import (
    PROPENSITY_PRESETS,
    inverse_propensity,
    propensity_preset,
)
from multitudes.metrics.report import Report, evaluate, evaluate_sets
from multitudes.metrics.sets import SetScores, set_scores
from multitudes.metrics.unknown import UnknownLabels

__all__ = [
    "PROPENSITY_PRESETS",
    "Comparison",
    "Difference",
    "FrequencyBins",
    "Report",
    "Resampling",
    "SetScores",
    "UnknownLabels",
    "compare",
    "compare_sets",
    "coverage_at_k",
    "evaluate",
    "evaluate_sets",
    "frequency_bins",
    "inverse_propensity",
    "macro_f1_at_k",
    "macro_precision_at_k",
    "macro_recall_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "precision_by_frequency",
    "propensity_preset",
    "psndcg_at_k",
    "psp_at_k",
    "psr_at_k",
    "recall_at_k",
    "set_scores",
]
