"""The model that finds labels by their names."""

from __future__ import annotations

from multitudes.models.spec import ModelSpec

MODELS = (
    ModelSpec(
        "lexical",
        "labels whose names occur in the text; knows those that no training text has",
        "multitudes.lexical:Lexical",
        reads="texts",
        updates=True,
        stored={"lexical": "multitudes.lexical:Lexical"},
    ),
)
