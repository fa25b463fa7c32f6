"""What the tests about running commands share: calling one, data, and an encoder for seconds."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

from multitudes.cli import main

TOPICS = {
    "belts": "leather buckle waist strap",
    "fruit": "apple pear juicy orchard",
    "planets": "orbit mercury moon crater",
    "fish": "bass river scales angler",
    "music": "guitar melody chord concert",
}
QUICK_ENCODER = [
    f"--set={setting}"
    for setting in (
        "backbone.name=scratch",
        "backbone.scratch_layers=1",
        "backbone.scratch_dim=32",
        "backbone.max_length=12",
        "sampler.batch_size=24",
        "training.epochs=4",
        "training.learning_rate=5e-3",
        "training.warmup_steps=2",
    )
] + ["--device", "cpu", "--threads", "1", "--model", "prime-lite"]


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str


def run(*arguments: object) -> Result:
    """Run ``multitudes ARGUMENTS`` in this process."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
    out.flush()
    return Result(code, out.buffer.getvalue().decode(), err.getvalue())


def topical(n: int) -> list[dict]:
    """Instances with words of one topic, which is their label."""
    names = list(TOPICS)
    made = []
    for i in range(n):
        words = TOPICS[names[i % 5]].split()
        made.append({"text": " ".join(words[i % 3 :] + words[: i % 2]), "labels": [names[i % 5]]})
    return made


def write_lines(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
