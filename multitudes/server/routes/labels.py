"""The labels of a model: found by prefix, and what the model knows about each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any

import orjson
from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from multitudes.disentangle import Sense
from multitudes.errors import ConfigError
from multitudes.server.context import Context
from multitudes.server.messages import (
    LabelAnswer,
    LabelAsked,
    LabelsAnswer,
    LabelsAsked,
    SensesAnswer,
)
from multitudes.server.models import Served
from multitudes.server.refusals import NotFoundError
from multitudes.server.work import Job
from multitudes.tagger.insight import examples_of, n_texts_of, nearest_labels, other_names, path_to


def add(app: FastAPI, context: Context) -> None:
    """Add the addresses that ask about labels."""
    models = context.models

    @app.get("/v1/labels", response_model=LabelsAnswer)
    async def labels(asked: Annotated[LabelsAsked, Query()]) -> Response:
        """Labels whose name or title begins with `prefix`."""
        served = models.get(asked.model)
        # Labels are put in order when they are first asked for: of a million that takes seconds.
        found = await asyncio.to_thread(_starting_with, served, asked.prefix, asked.limit)
        return Response(orjson.dumps({"labels": found}), media_type="application/json")

    @app.get("/v1/labels/details", response_model=LabelAnswer)
    async def details(request: Request, asked: Annotated[LabelAsked, Query()]) -> Response:
        """What the model knows about a label: its senses, its place, its neighbors, its texts."""
        served = models.get(asked.model)
        return await context.answered(request, partial(details_answer, served, asked.label))

    @app.get("/v1/senses", response_model=SensesAnswer)
    async def senses(request: Request, asked: Annotated[LabelAsked, Query()]) -> Response:
        """The senses of a label, of a model whose labels may have several."""
        served = models.get(asked.model)
        return await context.answered(request, partial(senses_answer, served, asked.label))


def _starting_with(served: Served, prefix: str, limit: int) -> list[dict[str, Any]]:
    labels = served.labels.starting_with(prefix, limit)
    counts = (n_texts_of(served.tagger, label) for label in labels)
    named = zip(_named(served, labels), counts, strict=True)
    return [one if n is None else {**one, "n_texts": n} for one, n in named]


def details_answer(served: Served, label: str, job: Job) -> bytes:
    """Return the bytes of a `LabelAnswer`."""
    job.go_on()
    label_id, tagger = known_label(served, label), served.tagger
    near = nearest_labels(tagger, label_id)
    named = _named(served, (one.label for one in near))
    pairs = zip(named, near, strict=True)
    content: dict[str, Any] = {
        **_named(served, [label_id])[0],
        "alternatives": other_names(tagger, label_id),
        "senses": _senses(served, label) if served.has_senses else [],
        "path": [_named(served, level) for level in path_to(tagger, label_id)],
        "nearest": [{**name, "similarity": one.similarity} for name, one in pairs],
        "examples": examples_of(tagger, label_id),
    }
    return orjson.dumps(content)


def senses_answer(served: Served, label: str, job: Job) -> bytes:
    """Return the bytes of a `SensesAnswer`."""
    job.go_on()
    label_id = known_label(served, label)
    content = {**_named(served, [label_id])[0], "senses": _senses(served, label)}
    return orjson.dumps(content)


def known_label(served: Served, label: str) -> int:
    """Return the id of a label, or refuse one that the model does not know."""
    found = served.labels.id_of(label)
    if found is None:
        raise NotFoundError(
            f"the model {served.name!r} has no label {label[:100]!r}: /v1/labels finds labels by "
            "the beginning of their names"
        )
    return found


def _senses(served: Served, label: str) -> list[dict[str, Any]]:
    try:
        senses = served.tagger.senses(label)
    except ConfigError as error:
        raise ConfigError(f"the model {served.name!r} has no senses: {error}") from None
    return [_sense(served, sense) for sense in senses]


def _sense(served: Served, sense: Sense) -> dict[str, Any]:
    titles = served.tagger.titles_
    return {
        "tree": sense.tree,
        "leaf": sense.leaf,
        "n_texts": sense.n_instances,
        "words": sense.words,
        "nearest": [_entry(name, titles) for name in sense.nearest],
        "examples": sense.texts,
    }


def _named(served: Served, labels: Iterable[int]) -> list[dict[str, str]]:
    names, titles = served.tagger.classes_, served.tagger.titles_
    return [_entry(names[label], titles) for label in labels]


def _entry(name: str, titles: dict[str, str]) -> dict[str, str]:
    return {"label": name} | ({"title": titles[name]} if name in titles else {})
