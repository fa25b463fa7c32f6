"""What goes over the wire: requests and answers."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, FailFast, Field, model_validator

from multitudes.tagger.prediction import Kind


class Message(BaseModel):
    """A request in which an unknown field is an error, and "3" is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


MODEL = "Name of a model; the first of /v1/models by default."


class PredictRequest(Message):
    """Texts to tag."""

    texts: Annotated[list[str], FailFast()] = Field(description="One text or more.")
    model: str | None = Field(None, description=MODEL)
    kind: Kind = Field(
        "scores",
        description="Ranked labels with scores, the same with probabilities, or each text's set of "
        "labels. All but scores take a calibrated model, or one that generates sets.",
    )
    top_k: int | None = Field(
        None, ge=1, description="Labels of a text, at most: 5, or a whole set."
    )
    threshold: float | None = Field(
        None, allow_inf_nan=False, description="Leave out labels with a lower score."
    )


class Label(BaseModel):
    """A label of a text."""

    label: str
    score: float
    title: str | None = Field(None, description="What people call it, if its name is e.g. a URI.")


class Tagged(BaseModel):
    """The labels of one text, best first."""

    labels: list[Label]


class PredictAnswer(BaseModel):
    """One entry for each text, in the order of the request."""

    predictions: list[Tagged]


class ExplainRequest(Message):
    """A text, and the label whose score is to be explained."""

    text: str
    label: str
    model: str | None = Field(None, description=MODEL)


class Word(BaseModel):
    """Something in a text that speaks for a label, or against it."""

    word: str
    weight: float = Field(description="Below 0: against the label.")
    spans: list[tuple[int, int]] = Field(
        description="Where it stands in the text: first character, and the one behind the last."
    )


class ExplainAnswer(BaseModel):
    """What carried the score: as fields, as a table to read, and as words of the text."""

    explanation: dict[str, Any]
    table: str
    words: list[Word] = Field(description="Strongest first; empty if the model reads no words.")


LabelName = Annotated[str, Field(min_length=1, max_length=10_000)]


class CorrectionRequest(Message):
    """What somebody says about the labels of a text."""

    text: str = Field(min_length=1)
    accepted: list[LabelName] = Field([], description="Predicted, and right.")
    rejected: list[LabelName] = Field([], description="Predicted, and wrong.")
    added: list[LabelName] = Field([], description="Not predicted, and right; may be new labels.")
    model: str | None = Field(None, description=MODEL)
    uid: str | None = Field(
        None, max_length=1000, description="Of the text: its last correction counts."
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        both = {*self.accepted, *self.added}.intersection(self.rejected)
        if both:
            raise ValueError(f"the label {min(both)[:100]!r} is both right and rejected")
        return self


class KeptAnswer(BaseModel):
    """A correction that is on the disk."""

    id: int
    uid: str
    time: str


class Asked(BaseModel):
    """What stands behind the ? of an address; an unknown name is an error."""

    model_config = ConfigDict(extra="forbid")


class LabelsAsked(Asked):
    """Labels whose name or title begins in a certain way."""

    prefix: str = Field("", description="Upper and lower case are the same; all by default.")
    limit: int = Field(20, ge=1, le=1000, description="Labels at most.")
    model: str | None = Field(None, description=MODEL)


class LabelAsked(Asked):
    """One label."""

    label: str
    model: str | None = Field(None, description=MODEL)


class CorrectionsAsked(Asked):
    """Some corrections."""

    limit: int = Field(100, ge=1, le=1000, description="Corrections at most.")
    after: int | None = Field(None, ge=0, lt=2**63, description="Those behind the one of this id.")
    newest: bool = Field(False, description="The last ones, not the first.")


class KnownCorrection(BaseModel):
    """A correction as it was kept."""

    id: int
    uid: str
    text: str
    labels: list[str] = Field(description="Accepted and added.")
    accepted: list[str]
    rejected: list[str]
    added: list[str]
    model: str | None
    version: str | None
    time: str = Field(description="ISO 8601, in UTC.")


class CorrectionsAnswer(BaseModel):
    """Corrections in the order in which they came."""

    corrections: list[KnownCorrection]
    after: int | None = Field(description="Ask for those after this one; null: there are none.")
    total: int


class KnownLabel(BaseModel):
    """A label of a model."""

    label: str
    title: str | None = Field(None, description="What people call it, if its name is e.g. a URI.")
    n_texts: int | None = Field(None, description="Texts it was learned from, if that is known.")


class LabelsAnswer(BaseModel):
    """Labels in alphabetical order."""

    labels: list[KnownLabel]


class NearLabel(BaseModel):
    """A label near another."""

    label: str
    title: str | None = None
    similarity: float


class SenseAnswer(BaseModel):
    """A label in one of its leaves."""

    tree: int
    leaf: int
    n_texts: int = Field(description="Training texts that use the label in this sense.")
    words: list[tuple[str, float]] = Field(description="What speaks for it, and how much.")
    nearest: list[KnownLabel] = Field(description="Labels that these texts have, too.")
    examples: list[str]


class SensesAnswer(BaseModel):
    """The senses of a label, tree by tree, those with most texts first."""

    label: str
    title: str | None = None
    senses: list[SenseAnswer]


class LabelAnswer(SensesAnswer):
    """What a model knows about a label; a part is empty if the model does not have it."""

    alternatives: list[str] = Field(description="Names by which it is found in texts.")
    path: list[list[KnownLabel]] = Field(
        description="From the root of the tree to the label's leaf: labels of the same cluster."
    )
    nearest: list[NearLabel] = Field(description="By the vectors that the model has of labels.")
    examples: list[str] = Field(description="Training texts that have it, shortened.")


class StatusAnswer(BaseModel):
    """How the server is."""

    status: str


class About(BaseModel):
    """A model that is being served."""

    name: str
    model: str = Field(description="The kind of model.")
    n_labels: int
    has_probabilities: bool
    has_sets: bool
    has_senses: bool
    version: str = Field(description="A fingerprint of its content; another one has another.")
    loaded_at: str = Field(description="ISO 8601, in UTC.")
    library_version: str


class CardAnswer(About):
    """A model and where it comes from."""

    card: list[dict[str, Any]] | None = Field(
        description="What was done to it, oldest first: verb, command, date, data and metrics."
    )
    n_bytes: int | None = Field(None, description="Of its files, if it was read from a folder.")


class ModelsAnswer(BaseModel):
    """All that is being served."""

    models: list[About]


class ErrorAnswer(BaseModel):
    """Why a request was refused."""

    error: str
