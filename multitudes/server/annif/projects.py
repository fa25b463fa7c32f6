"""Models as projects of Annif, and what they call labels as its vocabularies."""

from __future__ import annotations

from multitudes.data.vocabularies.subjects import Subjects
from multitudes.server.annif.messages import Backend, Project, Vocabulary
from multitudes.server.models import Models, Served
from multitudes.server.refusals import NotFoundError


def found_project(models: Models, project: str) -> Served:
    """Return a model by the name of its project."""
    try:
        return models.get(project)
    except NotFoundError:
        names = ", ".join(repr(served.name) for served in list(models)[:20])
        raise NotFoundError(f"there is no project {project[:100]!r}: there are {names}") from None


def described_project(served: Served, subjects: Subjects) -> Project:
    """Describe a model."""
    return Project(
        project_id=served.name,
        name=served.name,
        language=subjects.language,
        backend=Backend(backend_id=type(served.tagger.model_).__name__),
        vocab=described_vocabulary(served, subjects),
        vocab_language=subjects.language,
        is_trained=True,
        modification_time=served.loaded_at.isoformat(),
    )


def described_vocabulary(served: Served, subjects: Subjects) -> Vocabulary:
    """Describe the subjects of a model: its own labels if there is no vocabulary."""
    size = len(subjects.known) or len(served.tagger.classes_)
    return Vocabulary(vocab_id=subjects.name, languages=subjects.languages, size=size, loaded=True)
