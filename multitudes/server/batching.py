"""Which of the texts that wait are tagged together, and whose the answers are.

No text is kept waiting for others to join it: while the model is busy, those that come collect, and
all that ask for the same are its next step. Of a request with many texts only so many go into one
step; then it waits for its turn again, behind those that came meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from multitudes.server.refusals import GoneError
from multitudes.server.threads import use_threads
from multitudes.tagger import Tagger, predict_tags
from multitudes.tagger.prediction import Kind
from multitudes.tagger.tags import Tag

if TYPE_CHECKING:
    import asyncio

STEP_TEXTS = 256  # tagged between two looks at whether anybody still waits
STEP_LABELS = 50_000  # held as Python objects at a time
STEP_CHARACTERS = 200_000
FEW = 16  # texts of a request: those with more wait until these are in a step


class Job:
    """One request's work: a function, called once.

    Parameters
    ----------
    function : function of a Job
        Asks ``job.go_on()`` between its steps, if it has several.
    """

    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop

    def __init__(self, function: Callable[[Job], Any] | None = None) -> None:
        self.function = function
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False
        self.called_off = False

    def go_on(self) -> None:
        """Raise an error if the work is called off: call it between two steps."""
        if self.called_off:
            raise GoneError("called off")

    def finish(self, function: Callable[[], Any]) -> None:
        """Note what a function returns, or raises, as the result."""
        try:
            self.result = function()
        except BaseException as error:  # noqa: BLE001  it is the waiting request's to answer
            self.error = error
        self.is_done = True


class Texts(Job):
    """The texts of one request, some of which are tagged in each step.

    Parameters
    ----------
    tagger, texts, kind, top_k, threshold
        As in `multitudes.tagger.predict_tags`.
    render : function of the tags of a text
        Makes what is kept of them.
    """

    def __init__(
        self,
        tagger: Tagger,
        texts: Sequence[str],
        render: Callable[[Sequence[Tag]], Any],
        *,
        kind: Kind = "scores",
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> None:
        super().__init__()
        self.tagger = tagger
        self.texts = texts
        self.render = render
        self.options: dict[str, Any] = {"kind": kind, "top_k": top_k, "threshold": threshold}
        # What may be tagged together: the same model, asked for the same.
        self.key = (id(tagger), kind, top_k, threshold)
        self.max_texts = max(1, min(STEP_TEXTS, STEP_LABELS // (top_k or 1)))
        self.result = []

    @property
    def n_left(self) -> int:
        """How many texts are not tagged yet."""
        return len(self.texts) - len(self.result)

    def next(self, n: int) -> Sequence[str]:
        """Return the next texts."""
        at = len(self.result)
        return self.texts[at : at + n] if n < len(self.texts) else self.texts

    def take(self, found: Iterable[Sequence[Tag]]) -> None:
        """Take the tags of the next texts."""
        try:
            self.result += [self.render(tags) for tags in found]
        except BaseException as error:  # noqa: BLE001  it is the waiting request's to answer
            self.error, self.is_done = error, True
        if not self.n_left:
            self.is_done = True


class Batch:
    """What is done in one step: a job of its own, or texts of several.

    Parameters
    ----------
    parts : list of (Job, int)
        How many texts of each.
    """

    def __init__(self, parts: list[tuple[Any, int]]) -> None:
        self.parts = parts
        self.jobs: list[Job] = [job for job, _ in parts]

    @property
    def n_texts(self) -> int:
        """How many texts are tagged."""
        return sum(n for _, n in self.parts)

    def step(self, n_threads: int = 1) -> None:
        """Do it; an error that only some of several jobs lead to is theirs alone."""
        first = self.jobs[0]
        if not isinstance(first, Texts):
            first.finish(lambda: first.function and first.function(first))
            return
        texts = list(chain.from_iterable(job.next(n) for job, n in self.parts))
        try:
            use_threads(first.tagger, sum(map(len, texts)), n_threads)
            found = predict_tags(first.tagger, texts, **first.options)
        except BaseException as error:  # noqa: BLE001  it is the waiting request's to answer
            if len(self.parts) == 1:
                first.error, first.is_done = error, True
                return
            for part in self.parts:
                Batch([part]).step()
            return
        at = 0
        for job, n in self.parts:
            job.take(found[at : at + n])
            at += n


def taken(waiting: deque[Job]) -> Batch:
    """Take what comes next from those that wait, at least one.

    The first is always among it, then requests with few texts, then those with more.
    """
    first = waiting.popleft()
    if not isinstance(first, Texts):
        return Batch([(first, 1)])
    others = [job for job in waiting if isinstance(job, Texts) and job.key == first.key]
    if not others:
        return Batch([(first, _fitting(first, first.max_texts, STEP_CHARACTERS))])
    others.sort(key=lambda job: job.n_left > FEW)
    parts: list[tuple[Any, int]] = []
    left, characters, limit = first.max_texts, STEP_CHARACTERS, FEW
    for job in (first, *others):
        if left <= 0 or characters <= 0:
            break
        n = _fitting(job, min(left, limit), characters)
        parts.append((job, n))
        left -= n
        characters -= sum(map(len, job.next(n)))
        limit = left
    chosen = {id(job) for job, _ in parts}
    rest = [job for job in waiting if id(job) not in chosen]
    waiting.clear()
    waiting.extend(rest)
    return Batch(parts)


def _fitting(job: Texts, n: int, characters: int) -> int:
    """Return how many of the next texts go into a step: at least one, however long it is."""
    fitting = 0
    for text in job.next(min(n, job.n_left)):
        characters -= len(text)
        if characters < 0 and fitting:
            break
        fitting += 1
    return fitting
