"""Vocabularies: what labels that are URIs are called, in which language."""

from multitudes.data.vocabularies.vocabulary import Vocabulary, named_by, read_vocabulary

__all__ = ["Vocabulary", "named_by", "read_vocabulary"]
