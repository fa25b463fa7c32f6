"""Stage 4, labels whose names a text has: `Lexical`, which needs no training text."""

from multitudes.lexical.evidence import EVIDENCE, LabelEvidence, MatchWeights, evidence_of
from multitudes.lexical.explanation import Explanation
from multitudes.lexical.index import Matches, NameIndex
from multitudes.lexical.lexical import Lexical
from multitudes.lexical.names import names_of

__all__ = [
    "EVIDENCE",
    "Explanation",
    "LabelEvidence",
    "Lexical",
    "MatchWeights",
    "Matches",
    "NameIndex",
    "evidence_of",
    "names_of",
]
