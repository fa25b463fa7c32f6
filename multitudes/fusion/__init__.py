"""Several models made one: their ranked lists fused by rank, by probability, or as learned."""

from multitudes.fusion.calibrated import CalibratedFusion
from multitudes.fusion.choosing import FusionReport
from multitudes.fusion.ensemble import Ensemble
from multitudes.fusion.explanation import FusedExplanation, MemberSays
from multitudes.fusion.fusion import Fusion
from multitudes.fusion.learned import LearnedFusion
from multitudes.fusion.members import Member
from multitudes.fusion.rank import RankFusion, fuse_predictions
from multitudes.fusion.training import HeldOutConfig
from multitudes.fusion.trees import TreesConfig

__all__ = [
    "CalibratedFusion",
    "Ensemble",
    "FusedExplanation",
    "Fusion",
    "FusionReport",
    "HeldOutConfig",
    "LearnedFusion",
    "Member",
    "MemberSays",
    "RankFusion",
    "TreesConfig",
    "fuse_predictions",
]
