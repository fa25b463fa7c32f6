"""What a reader took, and what it left out: skipped lines and unknown labels of one file."""

from __future__ import annotations

from dataclasses import dataclass, field

from multitudes.errors import DataError

N_EXAMPLES = 5
EXCERPT_CHARACTERS = 60


def excerpt(value: object) -> str:
    """Return a value for an error message: its repr, cut to a readable length."""
    if isinstance(value, (str, bytes)) and len(value) > EXCERPT_CHARACTERS:
        value = value[:EXCERPT_CHARACTERS]
        return f"{value!r}..."
    text = repr(value)
    return text if len(text) <= EXCERPT_CHARACTERS else f"{text[:EXCERPT_CHARACTERS]}..."


@dataclass(frozen=True)
class ReadReport:
    """What was taken and left out while reading; `str(report)` says what was left out.

    Parameters
    ----------
    skipped : int
        Bad lines skipped under ``on_error="skip"``.
    skipped_examples : tuple of str
        The messages of the first few of them, each with file and line.
    unknown_labels : int
        Label occurrences dropped because the given label space does not have them.
    unknown_label_examples : tuple of str
        The first few of their names.
    taken : str
        What was read as what: ``text: title + description, labels: tags (split at ';')``.
    format : str
        The name of the file's format.
    """

    skipped: int = 0
    skipped_examples: tuple[str, ...] = ()
    unknown_labels: int = 0
    unknown_label_examples: tuple[str, ...] = ()
    taken: str = ""
    format: str = ""

    def __bool__(self) -> bool:
        """Return whether anything was left out."""
        return bool(self.skipped or self.unknown_labels)

    def __str__(self) -> str:
        parts = []
        if self.skipped:
            lines = "".join(f"\n  {message}" for message in self.skipped_examples)
            parts.append(f"skipped {self.skipped:,} bad lines, among them:{lines}")
        if self.unknown_labels:
            names = ", ".join(repr(name) for name in self.unknown_label_examples)
            parts.append(f"dropped {self.unknown_labels:,} labels of unknown name: {names}, ...")
        return "\n".join(parts) or "nothing was left out"


@dataclass
class ErrorLog:
    """What a reader does with bad lines: raise the first, or count and remember them.

    Readers of all formats use it like this::

        log = ErrorLog(options.on_error)
        log.bad_line("file.txt:7: ... (got ...); expected ...")
        Dataset(..., report=log.report())

    With ``on_error="strict"`` it raises and does not offer to skip: for files whose line numbers
    are ids.
    """

    on_error: str
    skipped: int = 0
    examples: list[str] = field(default_factory=list)

    def bad_line(self, message: str) -> None:
        """Raise a DataError with the message, or note it and let the reader go on."""
        if self.on_error == "strict":
            raise DataError(message)
        if self.on_error == "raise":
            raise DataError(f"{message}; or skip such lines with on_error='skip'")
        self.skipped += 1
        if len(self.examples) < N_EXAMPLES:
            self.examples.append(message)

    def report(self) -> ReadReport:
        """Return the finished report."""
        return ReadReport(skipped=self.skipped, skipped_examples=tuple(self.examples))
