"""What must hold after a command was disturbed, and after the next run."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from campaigns.framework.outcomes import CRASH, FOREIGN, SILENT, Outcome
from campaigns.kills.commands import Command, digests, leftovers
from campaigns.kills.processes import SIGNALS, Ended, forked

REFUSALS = (2, 3, 4, 6)  # exit codes of ConfigError, DataError, StoreError and ResourceError
NOT_OURS = ("Traceback", "unexpected error", "Exception ignored", "Fatal")


@dataclass(frozen=True)
class Known:
    """What is known of a command from runs that were left alone."""

    old: list[str]
    new: list[str]
    calls: list[str]
    seconds: float


class Broken(Exception):  # noqa: N818 - an outcome, not an error of the program
    """A promise was not kept."""

    def __init__(self, kind: str, detail: str, ended: Ended | None = None) -> None:
        super().__init__(detail)
        said = "" if ended is None else f"\nexit code {ended.code}, said:\n{ended.said[-3000:]}"
        self.outcome = Outcome(
            kind, detail[:300], f"{kind} {detail.split(':')[0][:80]}", said or " "
        )


def check(command: Command, known: Known, place: Path, means: str, ended: Ended) -> str:
    """Raise `Broken` if anything was lost or left; return "old" or "new"."""
    _check_end(means, ended)
    now = _state(command, place, ended)
    if now not in (known.old, known.new):
        raise Broken(SILENT, f"neither old nor new: {now}, not {known.old} or {known.new}", ended)
    if ended.code == 0 and now != known.new:
        raise Broken(SILENT, f"said it was done and was not: {now}", ended)
    left = leftovers(command, place) if means in CLEANS_UP and ended.code > 0 else []
    if left and not _kept(command, left):
        raise Broken(SILENT, f"left behind at once: {left}", ended)
    state = "new" if now == known.new else "old"
    _check_next(command, known, place, state)
    return state


CLEANS_UP = {"term", "int", "hup", "full", "quota", "filesize", "tmpfs"}


def _kept(command: Command, left: list[str]) -> bool:
    """Whether all that is left is what a checkpoint keeps on purpose, and nothing hidden."""
    scratch = [name for name in left if Path(name).parts[0] in command.scratch]
    return scratch == left and not any(Path(name).name.startswith(".") for name in left)


def _check_end(means: str, ended: Ended) -> None:
    if ended.code == -signal.SIGINT and ", in main\n" not in ended.said:
        return  # while Python itself started, before there was a command that could answer
    for sign in NOT_OURS:
        if sign in ended.said:
            raise Broken(FOREIGN, f"{sign}: {ended.said.strip()[-200:]}", ended)
    number = SIGNALS.get(means)
    allowed = {0, *(REFUSALS if number is None else (-number, 128 + number))}
    if ended.code not in allowed:
        kind = CRASH if ended.code < 0 or number is not None else FOREIGN
        raise Broken(kind, f"exit code {ended.code} after {means}", ended)
    silent = not ended.said.strip()
    if silent and ended.code > 0:
        raise Broken(FOREIGN, f"exit code {ended.code} after {means} without a word", ended)
    if ended.code > 0 and number != signal.SIGKILL and len(ended.said) > 2000:
        raise Broken(FOREIGN, f"many words after {means}: {ended.said[:200]}", ended)


def _state(command: Command, place: Path, ended: Ended) -> list[str]:
    """Return the digests of what a reader finds."""
    from multitudes.errors import MultitudesError
    from multitudes.files.together import finish

    try:
        for folder in {(place / output).parent for output in command.outputs}:
            finish(folder)  # as every reader of data does
        return digests(command, place)
    except MultitudesError as error:
        raise Broken(SILENT, f"cannot be read any more: {error}", ended) from error


def _check_next(command: Command, known: Known, place: Path, state: str) -> None:
    """Run the command again, undisturbed: it gives the new state and leaves nothing."""
    ended = forked(command.arguments, place)
    if ended.code:
        raise Broken(FOREIGN, f"the next run fails: exit code {ended.code}", ended)
    now = _state(command, place, ended)
    if now != known.new and not (command.in_place and state == "new"):
        raise Broken(SILENT, f"the next run gives another result: {now}, not {known.new}", ended)
    left = leftovers(command, place)
    if left:
        raise Broken(SILENT, f"left behind after the next run: {left}", ended)
