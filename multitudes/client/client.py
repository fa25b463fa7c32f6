"""Client: a server of multitudes, asked from Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from multitudes.client.results import (
    Correction,
    CorrectionPage,
    Explanation,
    Kept,
    KnownLabel,
    LabelDetails,
    Model,
    Scored,
    Sense,
)
from multitudes.client.sending import Sender
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    import httpx

AT_ONCE = 256  # texts of one request


class Client:
    """Asks a server; a context manager, which closes its connections.

    A server that is busy (429 or 503) is asked again, after as long as it says. What it refuses is
    an `AnswerError` with its sentence, and an `UnreachableError` says that there is no answer.

    Parameters
    ----------
    url : str
        E.g. ``http://localhost:8000``.
    key : str, optional
        If the server asks for one.
    timeout : float
        Seconds for one answer.
    retries : int
        How often a request is sent again if the server is busy.
    patience : float
        Seconds to wait for a busy server, of all retries of a request together.
    transport : httpx transport, optional
        Another way to the server.

    Examples
    --------
    >>> with Client("http://localhost:8000") as client:  # doctest: +SKIP
    ...     client.predict(["a leather belt"], top_k=2)
    [(Scored(label='belts', score=0.93, title=None), ...)]
    """

    def __init__(
        self,
        url: str = "http://localhost:8000",
        *,
        key: str | None = None,
        timeout: float = 60.0,
        retries: int = 8,
        patience: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._sender = Sender(
            url, key=key, timeout=timeout, retries=retries, patience=patience, transport=transport
        )

    def predict(
        self,
        texts: Iterable[str],
        *,
        kind: Literal["scores", "probabilities", "sets"] = "scores",
        top_k: int | None = None,
        threshold: float | None = None,
        model: str | None = None,
    ) -> list[tuple[Scored, ...]]:
        """Return the labels of each text, best first; many texts are sent in several requests.

        Parameters
        ----------
        texts : iterable of str
        kind : "scores", "probabilities" or "sets"
            See `multitudes.Tagger.predict`, `predict_proba` and `predict_sets`.
        top_k : int, optional
            Labels of a text, at most: 5, or a whole set.
        threshold : float, optional
            Leave out labels with a lower score.
        model : str, optional
            The server's first by default.
        """
        if isinstance(texts, str):
            raise ConfigError("texts are several, got one str: write [text]")
        asked = {"kind": kind, "top_k": top_k, "threshold": threshold, "model": model}
        found: list[tuple[Scored, ...]] = []
        for some in _batches(texts):
            answer = self._sender.send("POST", "/v1/predict", json={**asked, "texts": some}).json()
            found += [tuple(map(Scored.of, text["labels"])) for text in answer["predictions"]]
        return found

    def explain(self, text: str, label: str, *, model: str | None = None) -> Explanation:
        """Return what is behind the score of a label, and which words of the text are."""
        asked = {"text": text, "label": label, "model": model}
        return Explanation.of(self._sender.send("POST", "/v1/explain", json=asked).json())

    def labels(
        self, prefix: str = "", *, limit: int = 20, model: str | None = None
    ) -> list[KnownLabel]:
        """Return labels whose name or title begins with a prefix, whatever its case."""
        asked = {"prefix": prefix, "limit": limit, "model": model}
        found = self._sender.send("GET", "/v1/labels", params=asked).json()
        return list(map(KnownLabel.of, found["labels"]))

    def label(self, label: str, *, model: str | None = None) -> LabelDetails:
        """Return what a model knows about a label."""
        asked = {"label": label, "model": model}
        return LabelDetails.of(self._sender.send("GET", "/v1/labels/details", params=asked).json())

    def senses(self, label: str, *, model: str | None = None) -> list[Sense]:
        """Return the senses of a label; for a model whose labels may have several."""
        asked = {"label": label, "model": model}
        found = self._sender.send("GET", "/v1/senses", params=asked).json()
        return list(map(Sense.of, found["senses"]))

    def models(self) -> list[Model]:
        """Return what is served; the first is asked if no other is named."""
        found = self._sender.send("GET", "/v1/models").json()
        return list(map(Model.of, found["models"]))

    def model(self, name: str) -> Model:
        """Return one of the models, with its card."""
        return Model.of(self._sender.send("GET", f"/v1/models/{_quoted(name)}").json())

    def reload(self, name: str) -> Model:
        """Have the server take up what is in a model's folder now."""
        return Model.of(self._sender.send("POST", f"/v1/models/{_quoted(name)}/reload").json())

    def correct(
        self,
        text: str,
        *,
        accepted: Sequence[str] = (),
        rejected: Sequence[str] = (),
        added: Sequence[str] = (),
        model: str | None = None,
        uid: str | None = None,
    ) -> Kept:
        """Say which labels of a text are right; it is on the server's disk when this returns.

        Parameters
        ----------
        text : str
        accepted, rejected, added : sequence of str
            Labels that were predicted and are right, that were predicted and are wrong, and that
            were not predicted and are right.
        model : str, optional
            What predicted them.
        uid : str, optional
            Of the text: its last correction counts.
        """
        asked = {
            "text": text,
            "accepted": list(accepted),
            "rejected": list(rejected),
            "added": list(added),
            "model": model,
            "uid": uid,
        }
        return Kept.of(self._sender.send("POST", "/v1/corrections", json=asked).json())

    def corrections(
        self, *, limit: int = 100, after: int | None = None, newest: bool = False
    ) -> CorrectionPage:
        """Return some corrections: the first, those behind the one of an id, or the last."""
        asked = {"limit": limit, "after": after, "newest": newest or None}
        return CorrectionPage.of(self._sender.send("GET", "/v1/corrections", params=asked).json())

    def all_corrections(self) -> Iterator[Correction]:
        """Yield all corrections, in the order in which they came."""
        page = self.corrections(limit=1000)
        yield from page.corrections
        while page.after is not None:
            page = self.corrections(limit=1000, after=page.after)
            yield from page.corrections

    def export_corrections(self) -> bytes:
        """Return all corrections as JSON lines, a file that `multitudes update` takes."""
        return self._sender.send("GET", "/v1/corrections/export").content

    def is_ready(self) -> bool:
        """Whether the server would take a request now."""
        return self._sender.http.get("/ready").is_success

    def close(self) -> None:
        """Close the connections."""
        self._sender.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while some := list(islice(rest, AT_ONCE)):
        yield some
