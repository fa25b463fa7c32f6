"""Labels of texts as suggestions of subjects, with scores between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from multitudes.data.vocabularies.subjects import Subjects
from multitudes.errors import ConfigError
from multitudes.server.annif.messages import Document, Options
from multitudes.server.work import Texts
from multitudes.tagger import Tagger
from multitudes.tagger.prediction import Kind
from multitudes.tagger.tags import Tag

NOTHING = b"[]"


class Suggester:
    """Suggests subjects for texts, as a request asks for them.

    Parameters
    ----------
    tagger : Tagger
    subjects : Subjects
        What its labels are called.
    options : Options
    """

    def __init__(self, tagger: Tagger, subjects: Subjects, options: Options) -> None:
        self.tagger = tagger
        self.subjects = subjects
        self.options = options
        language = (options.language or subjects.language).lower()
        if language not in subjects.languages:
            raise ConfigError(
                f"there are no names of subjects in the language {language[:20]!r}: there are "
                f"{', '.join(subjects.languages)}"
            )
        self.names = subjects.nearest(language)

    def job(self, texts: Sequence[str]) -> Texts:
        """Return the job that finds the results of each text, as bytes of JSON."""
        kind: Kind = "scores" if self.tagger.calibrated_ is None else "probabilities"
        return Texts(self.tagger, texts, self._rendered, kind=kind, top_k=self.options.limit)

    def results(self, tags: Sequence[Tag]) -> list[dict[str, object]]:
        """Return labels as subjects; scores of encoders, which are cosines, end at 0."""
        found = []
        for tag in tags:
            score = min(max(tag.score, 0.0), 1.0)
            if score > 0 and score >= self.options.threshold:
                found.append(self._subject(tag.label) | {"score": score})
        return found

    def _rendered(self, tags: Sequence[Tag]) -> bytes:
        return orjson.dumps(self.results(tags))

    def _subject(self, label: str) -> dict[str, object]:
        uri = self.subjects.uri_of(label)
        named = (titles[uri] for titles in self.names if uri in titles)
        title = next(named, None) or self.tagger.titles_.get(label, label)
        return {"uri": uri, "label": title, "notation": self.subjects.notations.get(uri)}


def answer_to_one(results: bytes) -> bytes:
    """Return the bytes of `Suggestions`."""
    return b'{"results":' + results + b"}"


def answer_to_batch(documents: Sequence[Document], found: Sequence[bytes]) -> bytes:
    """Return the bytes of `DocumentSuggestions`, one for each document."""
    parts = [
        b'{"document_id":' + orjson.dumps(document.document_id) + b',"results":' + results + b"}"
        for document, results in zip(documents, found, strict=True)
    ]
    return b"[" + b",".join(parts) + b"]"
