"""Requests for suggestions, from what is sent to the bytes of the answer, and a short way there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from multitudes.server.annif.forms import check_form, parsed_form
from multitudes.server.annif.messages import Options, Suggest, SuggestBatch
from multitudes.server.annif.projects import found_project
from multitudes.server.annif.suggestions import (
    NOTHING,
    Suggester,
    answer_to_batch,
    answer_to_one,
)
from multitudes.server.answers import check_characters, check_count
from multitudes.server.context import Context
from multitudes.server.leaving import Leaving
from multitudes.server.reading import check_type, checked, parsed
from multitudes.server.shortcuts import Shortcut

PREFIX, SUFFIX = "/v1/projects/", "/suggest"


async def suggest(
    context: Context, project: str, content_type: str, body: bytes, gone: Leaving
) -> bytes:
    """Return the answer to a form with a text."""
    check_form(content_type)
    fields = await context.reader.made(body, partial(parsed_form, limits=context.limits))
    del body  # the answer may wait long for the model
    asked = checked(fields, Suggest)
    check_characters(len(asked.text), context.limits)
    by = suggester(context, project, asked)
    return answer_to_one((await _suggested(context, by, [asked.text], gone))[0])


async def suggest_batch(
    context: Context,
    project: str,
    options: Options,
    content_type: str,
    body: bytes,
    gone: Leaving,
) -> bytes:
    """Return the answer to several documents."""
    by = suggester(context, project, options)
    check_type(content_type)
    read = partial(parsed, kind=SuggestBatch, limits=context.limits)
    documents = (await context.reader.made(body, read)).documents
    del body
    check_count(len(documents), context.limits)
    check_characters(sum(len(document.text) for document in documents), context.limits)
    found = await _suggested(context, by, [document.text for document in documents], gone)
    return answer_to_batch(documents, found)


def suggester(context: Context, project: str, given: Options) -> Suggester:
    """Return what suggests subjects of a project."""
    served = found_project(context.models, project)
    # Annif gives what it has, however many are asked for.
    options = given.model_copy(update={"limit": min(given.limit, context.limits.max_top_k)})
    return Suggester(served.tagger, context.vocabularies.of(served.name), options)


async def _suggested(
    context: Context, by: Suggester, texts: Sequence[str], gone: Leaving
) -> list[bytes]:
    """Return the results of each text; as in Annif, one that says nothing has none."""
    asked = [text for text in texts if by.options.limit and text.strip()]
    if not asked:
        return [NOTHING] * len(texts)
    results = await context.work.result_of(by.job(asked), gone=gone)
    found = dict(zip(asked, results, strict=True))
    return [found.get(text, NOTHING) for text in texts]


class Suggesting(Shortcut):
    """Answers requests for suggestions to one text, as the route in `routes.annif` does."""

    def takes(self, path: str) -> bool:
        """Whether suggestions are asked for."""
        return (
            path.endswith(SUFFIX)
            and path.startswith(PREFIX)
            and "/" not in path[len(PREFIX) : -len(SUFFIX)]
        )

    async def answer(self, path: str, content_type: str, body: bytes, gone: Leaving) -> bytes:
        """Return the bytes of `Suggestions`."""
        project = path[len(PREFIX) : -len(SUFFIX)]
        return await suggest(self.context, project, content_type, body, gone)
