"""Numbers about a server for Prometheus: requests, batches, the queue, and the models.

With several processes each writes its numbers to files in the folder that the environment names in
``PROMETHEUS_MULTIPROC_DIR``, and whichever is asked adds them up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from multitudes.server.batching import Batch, Texts
from multitudes.version import __version__

if TYPE_CHECKING:
    from multitudes.server.models import Models

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SEVERAL = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """Counts what a server does; nothing at all if prometheus-client is not installed.

    Parameters
    ----------
    models : Models
    waiting : function
        Returns how many requests wait for the models now.
    """

    def __init__(self, models: Models, waiting: Callable[[], int]) -> None:
        self.models = models
        self.waiting = waiting
        try:
            import prometheus_client as client
        except ImportError:
            self.client: Any = None
            return
        self.client = client
        self.registry = client.CollectorRegistry()
        given: Any = {"namespace": "multitudes", "registry": self.registry}
        self._seconds = client.Histogram(
            "request_seconds", "Time from a request to its answer.", ["address", "status"],
            buckets=SECONDS, **given,
        )  # fmt: skip
        self._errors = client.Counter(
            "errors", "Answers that are errors of the server: 500 and above.", ["address"], **given
        )
        self._batches = client.Histogram(
            "batch_texts", "Texts that were tagged together.", buckets=SIZES, **given
        )
        self._queue = client.Gauge(
            "queue_requests", "Requests that wait for a model.",
            multiprocess_mode="livesum", **given,
        )  # fmt: skip
        self._texts = client.Counter("texts", "Texts that were tagged.", ["model"], **given)
        self._children: dict[tuple[str, int], Any] = {}  # looking them up costs most

    @property
    def is_on(self) -> bool:
        """Whether anything is counted."""
        return self.client is not None

    def answered(self, address: str, status: int, seconds: float) -> None:
        """Count a request."""
        if self.client is None:
            return
        child = self._children.get((address, status))
        if child is None:
            child = self._seconds.labels(address, str(status))
            self._children[address, status] = child
        child.observe(seconds)
        self._queue.set(self.waiting())
        if status >= 500:
            self._errors.labels(address).inc()

    def watch(self, batch: Batch, _: float) -> None:
        """Count what was done in one step, if it was to tag texts."""
        if self.client is None or not isinstance(batch.jobs[0], Texts):
            return
        self._batches.observe(batch.n_texts)
        tagger = batch.jobs[0].tagger
        # A model that was replaced meanwhile still ends what it has begun.
        name = next((one.name for one in self.models if one.tagger is tagger), "replaced")
        self._texts.labels(name).inc(batch.n_texts)

    def text(self) -> tuple[bytes, str]:
        """Return what Prometheus reads, and its type."""
        registry = self.registry
        if os.environ.get(SEVERAL):
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = self.client.CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            self._queue.set(self.waiting())
        about = self.client.CollectorRegistry()
        about.register(_AboutModels(self.models))
        found = self.client.generate_latest(registry) + self.client.generate_latest(about)
        return found, self.client.CONTENT_TYPE_LATEST


class _AboutModels:
    """What is served now; the same in all processes."""

    def __init__(self, models: Models) -> None:
        self.models = models

    def collect(self) -> Iterator[Any]:
        """Yield what is known about each model."""
        from prometheus_client.core import GaugeMetricFamily as family  # noqa: N813

        info = family(
            "multitudes_model_info", "1; what is served.", labels=["model", "version", "kind"]
        )
        labels = family("multitudes_model_labels", "Labels of a model.", labels=["model"])
        loaded = family(
            "multitudes_model_loaded_timestamp_seconds", "When it was read.", labels=["model"]
        )
        library = family("multitudes_info", "1; the library.", labels=["version"])
        library.add_metric([__version__], 1)
        for served in self.models:
            kind = type(served.tagger.model_).__name__
            info.add_metric([served.name, served.version, kind], 1)
            labels.add_metric([served.name], len(served.tagger.classes_))
            loaded.add_metric([served.name], served.loaded_at.timestamp())
        yield from (library, info, labels, loaded)
