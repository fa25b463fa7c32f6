"""What goes over the wire: requests and answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from multitudes.tagger.prediction import Kind


class Message(BaseModel):
    """A request in which an unknown field is an error, and "3" is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PredictRequest(Message):
    """Texts to tag."""

    texts: list[str] = Field(description="One text or more.")
    kind: Kind = Field(
        "scores",
        description="Ranked labels with scores, the same with probabilities, or each text's set of "
        "labels. All but scores take a calibrated model, or one that generates sets.",
    )
    top_k: int | None = Field(
        None, ge=1, description="Labels of a text, at most: 5, or a whole set."
    )
    threshold: float | None = Field(None, description="Leave out labels with a lower score.")


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


class ExplainAnswer(BaseModel):
    """What carried the score: as fields, and as a table to read."""

    explanation: dict[str, Any]
    table: str


class ModelAnswer(BaseModel):
    """What is being served."""

    model: str
    n_labels: int
    has_probabilities: bool
    has_sets: bool
    version: str


class ErrorAnswer(BaseModel):
    """Why a request was refused."""

    error: str
