"""Texts with subjects that people have given them, kept as corrections."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from multitudes.data.predictions.corrections import Correction
from multitudes.data.vocabularies.subjects import Subjects
from multitudes.server.annif.messages import IndexedDocument
from multitudes.server.corrections import Corrections
from multitudes.server.models import Served


def keep(
    documents: Sequence[IndexedDocument],
    served: Served,
    subjects: Subjects,
    corrections: Corrections,
) -> None:
    """Write documents to the disk; those without text or subjects say nothing."""
    labels = frozenset(served.tagger.classes_)
    for document in documents:
        if document.text and document.subjects:
            given = dict.fromkeys(subject.uri for subject in document.subjects)
            added = tuple(label_of(uri, subjects, labels) for uri in given)
            corrections.append(
                Correction(document.text, added=added, model=served.name, version=served.version)
            )


def label_of(uri: str, subjects: Subjects, labels: Collection[str]) -> str:
    """Return what a model calls a subject; the URI itself if it does not know it yet."""
    names = (name for name in subjects.names_of(uri) if name in labels)
    return next((name for name in names if subjects.uri_of(name) == uri), uri)
