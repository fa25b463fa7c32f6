"""What Annif's clients send and get, field by field as Annif 1.4 has it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, FailFast, Field, RootModel

DEFAULT_LIMIT = 10
MAX_LANGUAGES = 5


class Sent(BaseModel):
    """A request in which, as in Annif, fields that are not known mean nothing."""

    model_config = ConfigDict(strict=True)


class Options(BaseModel):
    """What may be asked of suggestions; numbers come as text, in a form or an address."""

    limit: int = Field(DEFAULT_LIMIT, ge=0, description="Suggestions for a text, at most.")
    threshold: float = Field(
        0.0, ge=0, le=1, allow_inf_nan=False, description="Leave out those with a lower score."
    )
    language: str | None = Field(None, description="Of the subjects' names.")


class Suggest(Options):
    """A text, with options: the fields of a form."""

    text: str


class Document(Sent):
    """A text to suggest subjects for."""

    text: str
    document_id: str | None = None
    metadata: dict[str, str] = Field(default_factory=dict, description="Taken, and not used.")


class SuggestBatch(Sent):
    """Several texts."""

    documents: Annotated[list[Document], FailFast()]


class GivenSubject(Sent):
    """A subject that a person has given."""

    uri: str
    label: str | None = None


class IndexedDocument(Sent):
    """A text and its subjects; without one of them it says nothing."""

    text: str | None = None
    subjects: list[GivenSubject] | None = None


class Learn(RootModel[Annotated[list[IndexedDocument], FailFast()]]):
    """Texts with their subjects."""

    model_config = ConfigDict(strict=True)


class DetectLanguage(Sent):
    """A text, and the languages it may be in."""

    text: str
    languages: list[Annotated[str, Field(min_length=2, max_length=3)]] = Field(
        min_length=1, max_length=MAX_LANGUAGES, description="Codes of two or three letters."
    )


class ApiInfo(BaseModel):
    """Who answers."""

    title: str
    version: str


class Vocabulary(BaseModel):
    """Subjects, and the languages of their names."""

    vocab_id: str
    languages: list[str]
    size: int | None
    loaded: bool


class Vocabularies(BaseModel):
    """All vocabularies."""

    vocabs: list[Vocabulary]


class Backend(BaseModel):
    """The kind of model."""

    backend_id: str


class Project(BaseModel):
    """A model, as a project of Annif."""

    project_id: str
    name: str
    language: str
    backend: Backend
    vocab: Vocabulary
    vocab_language: str
    is_trained: bool
    modification_time: str


class Projects(BaseModel):
    """All models."""

    projects: list[Project]


class Suggestion(BaseModel):
    """A subject of a text."""

    uri: str
    label: str
    notation: str | None
    score: float


class Suggestions(BaseModel):
    """The subjects of a text, best first."""

    results: list[Suggestion]


class DocumentSuggestions(Suggestions):
    """The subjects of one of several texts."""

    document_id: str | None


class Detected(BaseModel):
    """A language; null for none of those that were asked for."""

    language: str | None
    score: float


class DetectedLanguages(BaseModel):
    """The likeliest language first."""

    results: list[Detected]


class Problem(BaseModel):
    """Why a request was refused, in Annif's form (RFC 9457) and in ours."""

    type: str
    title: str
    status: int
    detail: str
    error: str
