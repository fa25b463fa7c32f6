"""Stage 5, candidates to `Predictions`: what happens to scores before they are evaluated."""

from multitudes.scores.filtering import filter_pairs, remove_pairs, remove_pairs_from_truth

__all__ = ["filter_pairs", "remove_pairs", "remove_pairs_from_truth"]
