"""Vocabularies: what labels that are URIs are called, in which language."""

from multitudes.data.vocabularies.subjects import Subjects, Vocabularies
from multitudes.data.vocabularies.vocabulary import (
    Vocabulary,
    named_by,
    read_vocabulary,
)

__all__ = ["Subjects", "Vocabularies", "Vocabulary", "named_by", "read_vocabulary"]
