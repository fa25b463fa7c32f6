"""The commands that write, what they write, and what it looks like when it is whole."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BASE = "base"  # folder of what commands read: data, models, predictions
OLD = "old"  # folder of what is there before a command runs
NEW = "new"  # folder of what an undisturbed run leaves

TREE = ["--set", "branching=4", "--set", "max_leaf_size=4", "--threads", "1"]


@dataclass(frozen=True)
class Command:
    """A command that writes.

    Parameters
    ----------
    arguments
        As typed in the folder of a case, beside `BASE`.
    outputs
        What it writes, files or folders, in the folder of the case.
    old
        Which prepared things are at the outputs before.
    scratch
        What is only there while it runs, e.g. a checkpoint.
    in_place
        Whether it changes what it reads, so that a second run gives something else.
    """

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    old: tuple[str | None, ...] = (None,)
    scratch: tuple[str, ...] = ()
    in_place: bool = False


def _train(*more: str) -> tuple[str, ...]:
    return ("train", f"{BASE}/train.jsonl", "-o", "model", "-q", "--force", *TREE, *more)


COMMANDS = {
    "train": Command(_train("-m", "xr-linear"), ("model",)),
    "train-over": Command(_train("-m", "xr-linear"), ("model",), ("other",)),
    "train-checkpoint": Command(
        _train("-m", "xr-linear", "--checkpoint", "run"), ("model",), ("other",), ("run",)
    ),
    "train-parabel": Command(
        _train("-m", "parabel", "--set", "n_trees=2", "--checkpoint", "run"),
        ("model",), (None,), ("run",),
    ),
    "train-overlap": Command(
        _train("-m", "xr-linear", "--overlap", "2", "--checkpoint", "run"),
        ("model",), (None,), ("run",),
    ),
    "train-groups": Command(
        ("train", f"{BASE}/instances.jsonl", "--groups", f"{BASE}/groups.jsonl", "-o", "model",
         "-q", "--force", "-m", "xr-linear", *TREE, "--checkpoint", "run"),
        ("model",), ("other",), ("run",),
    ),
    "train-validated": Command(
        _train("-m", "xr-linear", "--validation", "0.2", "--refit", "--checkpoint", "run"),
        ("model",), (None,), ("run",),
    ),
    "update": Command(
        ("update", "model", f"{BASE}/more.jsonl", "-q"), ("model",), ("tree",), in_place=True
    ),
    "update-elsewhere": Command(
        ("update", f"{BASE}/tree", f"{BASE}/more.jsonl", "-o", "model", "-q", "--force"),
        ("model",), ("other",),
    ),
    "calibrate": Command(
        ("calibrate", "model", f"{BASE}/test.jsonl", "-q"), ("model",), ("tree",), in_place=True
    ),
    "fuse": Command(
        ("fuse", f"{BASE}/tree", f"{BASE}/other", "-o", "model", "-q", "--force",
         "--validation", f"{BASE}/test.jsonl"),
        ("model",), ("other",),
    ),
    "predict": Command(
        ("predict", f"{BASE}/tree", f"{BASE}/test.jsonl", "-o", "found.jsonl", "-q"),
        ("found.jsonl",), ("old.jsonl",),
    ),
    "predict-csv-gz": Command(
        ("predict", f"{BASE}/tree", f"{BASE}/test.jsonl", "-o", "found.csv.gz", "-q"),
        ("found.csv.gz",),
    ),
    "predict-html": Command(
        ("predict", f"{BASE}/tree", "--text", "a b", "--explain", "--html", "page.html", "-q"),
        ("page.html",), ("old.jsonl",),
    ),
    "convert": Command(
        ("convert", f"{BASE}/train.jsonl", "out.csv", "-q"), ("out.csv",), ("old.jsonl",)
    ),
    "convert-pair": Command(
        ("convert", f"{BASE}/numbers", "pair", "-q", "--write", "label_kind=ids"),
        ("pair/trn.X.npz", "pair/trn.Y.npz"), ("other-pair/trn.X.npz", "other-pair/trn.Y.npz"),
    ),
    "convert-folder": Command(
        ("convert", f"{BASE}/train.jsonl", "folder", "--to", "lf", "-q"),
        ("folder/trn.json.gz", "folder/lbl.json.gz"), (None, None),
    ),
    "group": Command(
        ("group", f"{BASE}/train.jsonl", "--random", "3", "-o", "grouped", "-q"),
        ("grouped/instances.jsonl", "grouped/groups.jsonl"), (None, None),
    ),
    "evaluate": Command(("evaluate", f"{BASE}/tree", f"{BASE}/test.jsonl", "-q"), ()),
    "inspect": Command(("inspect", f"{BASE}/tree", "--verify"), ()),
}  # fmt: skip


def settle(command: Command, base: Path, place: Path) -> None:
    """Empty a folder, and put into it what is there before the command runs."""
    if not place.is_mount():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    (place / BASE).symlink_to(base)
    for output, old in zip(command.outputs, command.old, strict=False):
        if old is not None:
            (place / output).parent.mkdir(parents=True, exist_ok=True)
            copy: Callable[..., object] = (
                shutil.copytree if (base / old).is_dir() else shutil.copyfile
            )
            copy(base / old, place / output)


def digests(command: Command, place: Path) -> list[str]:
    """Return what is at each output, as a digest; of a model, what is loaded and verified."""
    return [_digest(place / output) for output in command.outputs]


def _digest(path: Path) -> str:
    if path.is_dir():
        return _digest_of_model(path)
    if not path.exists():
        return "nothing"
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _digest_of_model(path: Path) -> str:
    from multitudes.store import load, read_manifest

    if not any(path.iterdir()):
        return "nothing"
    load(path, verify=True)
    files = {name: entry.sha256 for name, entry in read_manifest(path).files.items()}
    manifest = json.loads((path / "manifest.json").read_bytes())["object"]
    content = json.dumps([files, manifest], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def leftovers(command: Command, place: Path) -> list[str]:
    """Return the names of all that is neither an output nor was there before."""
    found = []
    for parent, folders, files in os.walk(place):
        names = [Path(parent, name).relative_to(place) for name in [*folders, *files]]
        for name in names:
            hidden = name.name.startswith(".")
            stray = name.parts[0] in command.scratch
            if hidden or stray:
                found.append(str(name))
        found += _unnamed_data(Path(parent))
    return found


def _unnamed_data(folder: Path) -> list[str]:
    """Return data folders that the manifest of a model does not name."""
    manifest = folder / "manifest.json"
    data = [entry.name for entry in folder.glob("data-*")]
    if not data:
        return []
    named = json.loads(manifest.read_bytes())["data"] if manifest.exists() else None
    return [str(folder / name) for name in data if name != named]
