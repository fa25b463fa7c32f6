"""What is served: /v1/models."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI

from multitudes.errors import StoreError
from multitudes.server.context import Context
from multitudes.server.messages import About, CardAnswer, ModelsAnswer
from multitudes.server.models import Served, version_of
from multitudes.store import read_manifest
from multitudes.tagger.reports.card import ModelCard
from multitudes.version import __version__


def add(app: FastAPI, context: Context) -> None:
    """Add the list of models, each of them, and how to have it read again."""
    models = context.models

    @app.get("/v1/models")
    async def all_models() -> ModelsAnswer:
        """What is being served; the first is asked if a request names none."""
        return ModelsAnswer(models=[about(served) for served in models])

    @app.get("/v1/models/{name}")
    async def model(name: str) -> CardAnswer:
        """One of the models, and its card."""
        served = models.get(name)
        card = await asyncio.to_thread(card_of, served)
        n_bytes = await asyncio.to_thread(bytes_of, served)
        return CardAnswer(**about(served).model_dump(), card=card, n_bytes=n_bytes)

    @app.post("/v1/models/{name}/reload")
    async def reload(name: str) -> About:
        """Take up what is in the model's folder now; requests in flight end with the old one."""
        models.get(name)
        if models.elsewhere is not None:
            return About(**await asyncio.to_thread(models.elsewhere, name))
        return about(await asyncio.to_thread(models.reload, name))


def about(served: Served) -> About:
    """Describe a model."""
    tagger = served.tagger
    is_calibrated = tagger.calibrated_ is not None
    return About(
        name=served.name,
        model=type(tagger.model_).__name__,
        n_labels=len(tagger.classes_),
        has_probabilities=is_calibrated,
        has_sets=is_calibrated or tagger.generates_sets,
        has_senses=served.has_senses,
        version=served.version,
        loaded_at=served.loaded_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        library_version=__version__,
    )


def card_of(served: Served) -> list[dict[str, Any]] | None:
    """Return the history of a model, if it lies beside it."""
    if served.path is None or not is_stored(served):
        return None
    card = ModelCard.read(served.path)
    return None if card is None else [asdict(event) for event in card.events]


def bytes_of(served: Served) -> int | None:
    """Return how large a model is on the disk."""
    if served.path is None or not is_stored(served):
        return None
    return sum(entry.n_bytes for entry in read_manifest(served.path).files.values())


def is_stored(served: Served) -> bool:
    """Whether the folder has this version of a model, and no other; it may be gone."""
    try:
        return served.path is not None and version_of(served.path) == served.version
    except StoreError:
        return False
