"""Options that several verbs take, declared once, alone and in groups."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli.verb import expanded, from_config
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.metrics import Resampling
    from multitudes.tagger import Tagger

READ_OPTIONS = "multitudes.data.options:ReadOptions"


def _formats() -> list[tuple[str, str]]:
    from multitudes.data import list_formats

    return [(format.name, format.summary) for format in list_formats()]


def _read_settings(incomplete: str) -> list[tuple[str, str]]:
    from multitudes.data.options import ReadOptions

    return [(f"{name}=", doc) for name, _, _, doc in ReadOptions.describe()]


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace a model that is in the folder already.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", "-t", min=1, help="Threads; all cores by default.")
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory",
        "--max-memory",
        metavar="SIZE",
        help="Memory that this command may take, e.g. 8GB; larger arrays then lie on disk. Most "
        "of what is free by default.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        autocompletion=_formats,
        help="Format of the data; recognized by its content by default.",
    ),
]
OnError = Annotated[
    str,
    typer.Option("--on-error", metavar="raise|skip", help=from_config(READ_OPTIONS, "on_error")),
]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        autocompletion=_read_settings,
        help="A setting of reading, e.g. text_column=body; "
        "`multitudes convert --list-settings` shows all. May be repeated.",
    ),
]
Groups = Annotated[
    Path | None,
    typer.Option("--groups", help="The labels of groups, if instances have a group."),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Work on all machines of the Ray cluster there; auto is the cluster that this machine "
        "belongs to.",
    ),
]
CUTOFFS = "1,3,5"
Cutoffs = Annotated[
    str | None,
    typer.Option("--ks", help="Cut-offs of the metrics.", metavar="K,K,...", show_default=CUTOFFS),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="auto|cpu|cuda|mps",
        help="Where text encoders compute; the GPU by default, if there is one.",
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="auto|float32|bf16|int8",
        help="Number format of text encoders; by default that of the model's settings. int8 is "
        "for CPUs.",
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Check the model again: the SHA-256 of every file, and contents."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same result.")]
Intervals = Annotated[bool, typer.Option("--intervals", help="Add bootstrap confidence intervals.")]
Resamples = Annotated[
    int,
    typer.Option(
        "--resamples",
        min=1,
        help=from_config("multitudes.metrics.bootstrap:Resampling", "n_resamples"),
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence", help=from_config("multitudes.metrics.bootstrap:Resampling", "confidence")
    ),
]
TrainData = Annotated[
    Path | None,
    typer.Option(
        "--train", help="Training data: adds propensity-scored metrics, and by frequency."
    ),
]
Propensity = Annotated[
    str,
    typer.Option(
        "--propensity",
        metavar="NAME|A,B",
        help="Propensity constants: those of a known data set, or two numbers.",
    ),
]
Filter = Annotated[
    str,
    typer.Option(
        "--filter",
        metavar="predictions|both|none",
        help="Leave the truth's filter pairs out of the predictions, of both sides, or of none.",
    ),
]
SkipEmpty = Annotated[
    bool, typer.Option("--skip-empty", help="Leave out instances without a true label.")
]
ModelOfPredictions = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="The model of a prediction file, which knows its labels."),
]
KnownLabels = Annotated[
    bool,
    typer.Option(
        "--known-labels",
        help="Leave labels that the model does not know out of the truth: they count as missed "
        "by default.",
    ),
]


def limiting(function: Callable[..., None]) -> Callable[..., None]:
    """Return a verb that also takes ``--memory``, and runs under this limit."""
    verb = expanded(function)

    @functools.wraps(verb)
    def run(*, memory_limit: str | None = None, **values: Any) -> None:
        from multitudes import memory

        with memory.limited(memory_limit):
            verb(**values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    option = inspect.Parameter("memory_limit", kind, default=None, annotation=MemoryLimit)
    parameters = [*inspect.signature(verb).parameters.values(), option]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


@dataclass(frozen=True)
class Computing:
    """How a model is loaded: where and how text encoders compute, whether files are verified."""

    device: Device = None
    precision: Precision = None
    verify: Verify = False

    def load(self, model: Path, *, in_memory: bool = False) -> Tagger:
        """Load a model to predict with; `in_memory` is that of `multitudes.load`."""
        from multitudes.interchange.recognition import library_of
        from multitudes.tagger import Tagger

        library = library_of(model)
        if library is not None:
            raise ConfigError(
                f"{model} is a model of {library}: import it first, with "
                f"multitudes convert {model} MODEL"
            )
        tagger = Tagger.load(model, verify=self.verify, in_memory=in_memory)
        return tagger.to(self.device or "auto", precision=self.precision)


@dataclass(frozen=True)
class Measuring:
    """Which metrics are computed, and how."""

    ks: Cutoffs = None
    train: TrainData = None
    propensity: Propensity = "default"
    filter: Filter = "predictions"
    skip_empty: SkipEmpty = False
    known_labels: KnownLabels = False
    model: ModelOfPredictions = None
    verify: Verify = False
    resamples: Resamples = 1000
    confidence: Confidence = 0.95
    random_state: Seed = 0

    def constants(self) -> tuple[float, float]:
        """Return the constants of --propensity: a preset's, or two numbers "A,B"."""
        from multitudes.metrics import propensity_preset

        if "," not in self.propensity:
            return propensity_preset(self.propensity)
        try:
            a, b = (float(part) for part in self.propensity.split(","))
        except ValueError:
            raise ConfigError(
                f"--propensity takes two numbers A,B, got {self.propensity!r}"
            ) from None
        return a, b

    def cutoffs(self) -> list[int]:
        """Return the numbers in "1,3,5"."""
        try:
            return [int(k) for k in (self.ks or CUTOFFS).split(",")]
        except ValueError:
            raise ConfigError(
                f"--ks takes whole numbers and commas, e.g. 1,3,5, got {self.ks!r}"
            ) from None

    def resampling(self) -> Resampling:
        """Return how confidence intervals are found."""
        from multitudes.metrics import Resampling

        return Resampling(self.resamples, self.confidence, self.random_state)
