"""Change a stored model in one place, as if its hashes had been made right, and see what it does.

    python -m tests.reliability.changed_states xr-linear tagger --cases 1000 --seed 7

Every model of `tests/golden` can be named; without a name, all are taken. A changed state is built
as `load` would do it, and what is built is asked for all that it can do. It must be refused by an
error of ours, or answer. The case that is under way is printed first, so that whoever started the
process knows which one ended it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import MultitudesError
from multitudes.store import State, build, read_state

GOLDEN = Path(__file__).parent.parent / "golden" / "0.1"
NAMES = sorted(path.parent.name for path in GOLDEN.glob("*/expected.json"))
SETTINGS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 255, 10**6, 10**9, 2**31, 2**32, 2**63, 10**18, 10**30, 0.5,
    -0.5, 1e-300, 1e300, float("nan"), float("inf"), -float("inf"), "", "x", "auto", "word", [],
    [1], [1, 10**9], [[]], {}, {"x": 1},
]  # fmt: skip
TEXTS = ["a small dog at the lake", "", "an old barn, and another"]
MEMORY = 3 << 30  # bytes that a case may take beyond what the process has
_COPIES = Path(tempfile.gettempdir()) / f"changed-states-{os.getpid()}"
SECONDS = 60  # of one case, before the process ends itself


def places(state: State, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths of a state and all its parts."""
    inner = [found for name, part in state.parts.items() for found in places(part, (*path, name))]
    return [path, *inner]


def part_at(state: State, path: tuple[str, ...]) -> State:
    """Return a part of a state."""
    return state if not path else part_at(state.parts[path[0]], path[1:])


def with_part(state: State, path: tuple[str, ...], part: State) -> State:
    """Return a state with another part at a path."""
    if not path:
        return part
    inner = with_part(state.parts[path[0]], path[1:], part)
    return replace(state, parts={**state.parts, path[0]: inner})


def changed(state: State, rng: np.random.Generator) -> tuple[State, str]:
    """Return a state that differs in one place, and what was done there."""
    path = _choose(rng, places(state))
    part = part_at(state, path)
    ways = [_change_config, _change_part, *[_change_folder] * (6 if part.folders else 0)]
    ways += [_change_array] * (6 if part.arrays else 1) + [_change_strings] * bool(part.strings)
    new, what = _choose(rng, ways)(part, rng)
    return with_part(state, path, new), f"{'/'.join(path)}: {what}"


def _choose(rng: np.random.Generator, items: Any) -> Any:
    items = list(items)
    return items[int(rng.integers(len(items)))]


def _change_config(part: State, rng: np.random.Generator) -> tuple[State, str]:
    if not part.config:
        return _change_array(part, rng)
    config = json.loads(json.dumps(dict(part.config)))
    what = _change_json(config, rng)
    return replace(part, config=config), what


def _change_json(values: Any, rng: np.random.Generator) -> str:
    """Change a value of nested lists and mappings in place."""
    owner = values
    name: Any = _choose(rng, owner if isinstance(owner, dict) else range(len(owner)))
    while isinstance(owner[name], (dict, list)) and owner[name] and rng.random() < 0.8:
        owner = owner[name]
        name = _choose(rng, owner if isinstance(owner, dict) else range(len(owner)))
    way = rng.random()
    if way < 0.1:
        del owner[name]
        return f"without setting {name}"
    if way < 0.15 and isinstance(values, dict):
        values["unknown"] = 1
        return "a setting more"
    old = owner[name]
    steps = (-1, 1, 1000) if type(old) is int and way < 0.3 else ()
    owner[name] = old + _choose(rng, steps) if steps else _choose(rng, SETTINGS)
    return f"setting {name} = {str(owner[name])[:40]}, was {str(old)[:40]}"


def _change_folder(part: State, rng: np.random.Generator) -> tuple[State, str]:
    """Change a file of another library's folder, in a copy that is removed in the end."""
    name, source = next(iter(part.folders.items()))
    copy = _COPIES / str(rng.integers(2**62))
    shutil.copytree(source, copy)
    path = _choose(rng, sorted(path for path in copy.rglob("*") if path.is_file()))
    what = f"file {path.relative_to(copy)}"
    if path.suffix == ".json" and rng.random() < 0.85:
        values = json.loads(path.read_bytes())
        what += f" {_change_json(values, rng)}"
        path.write_text(json.dumps(values))
    elif rng.random() < 0.2:
        path.unlink()
        what += " removed"
    else:
        content = bytearray(path.read_bytes())
        at = int(rng.integers(min(len(content), 4000)))
        content[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        what += f" byte {at}"
    return replace(part, folders={name: copy}), what


def _change_part(part: State, rng: np.random.Generator) -> tuple[State, str]:
    if not part.parts:
        return _change_array(part, rng)
    parts, name = dict(part.parts), _choose(rng, part.parts)
    way = rng.integers(4)
    if way == 0:
        del parts[name]
        return replace(part, parts=parts), f"without part {name}"
    if way == 1:
        other = _choose(rng, parts)
        parts[name], parts[other] = parts[other], parts[name]
        return replace(part, parts=parts), f"parts {name} and {other} swapped"
    if way == 2:
        parts[f"{name}-more"] = parts[name]
        return replace(part, parts=parts), f"part {name} twice"
    kinds = ("xr-linear", "label-tree", "level-weights", "tfidf", "pass-through", "tagger", "none")
    kind = _choose(rng, kinds)
    parts[name] = replace(parts[name], kind=kind)
    return replace(part, parts=parts), f"part {name} of kind {kind}"


def _change_strings(part: State, rng: np.random.Generator) -> tuple[State, str]:
    name = _choose(rng, part.strings)
    values, way = list(part.strings[name]), int(rng.integers(5))
    at = int(rng.integers(len(values))) if values else 0
    if way == 0:
        del values[at : at + 1]
    elif way == 1:
        values.insert(at, values[at] if values else "")
    elif way == 2:
        values[at : at + 1] = [_choose(rng, ("", "\x00", "zzz", "a b", "ü", " ", "0"))]
    elif way == 3:
        values.reverse()
    else:
        values = []
    return replace(part, strings={**part.strings, name: values}), f"strings {name}, way {way}"


def _change_array(part: State, rng: np.random.Generator) -> tuple[State, str]:
    if not part.arrays:
        return replace(part, arrays={"unknown": np.zeros(1)}), "an array more"
    name = _choose(rng, part.arrays)
    array, way = np.array(part.arrays[name]), rng.random()
    arrays = dict(part.arrays)
    if way < 0.05:
        del arrays[name]
        return replace(part, arrays=arrays), f"without array {name}"
    if way < 0.10:
        other = _choose(rng, arrays)
        arrays[name], arrays[other] = arrays[other], arrays[name]
        return replace(part, arrays=arrays), f"arrays {name} and {other} swapped"
    if way < 0.18:
        kind = _choose(rng, ("uint8", "int32", "uint32", "int64", "uint64", "float32", "float64"))
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(kind)
        return replace(part, arrays=arrays), f"array {name} as {kind}"
    if way < 0.30:
        arrays[name], what = _reshaped(array, rng)
        return replace(part, arrays=arrays), f"array {name} {what}"
    if not array.size:
        return replace(part, arrays={**arrays, name: np.ones(3, array.dtype)}), f"{name} not empty"
    at = tuple(int(rng.integers(n)) for n in array.shape)
    old = array[at]
    if way < 0.38:
        array[:] = np.roll(array.ravel(), 1).reshape(array.shape)
        return replace(part, arrays={**arrays, name: array}), f"array {name} rolled"
    array[at] = _other_value(array, at, rng)
    what = f"array {name}{list(at)} = {array[at]}, was {old}"
    return replace(part, arrays={**arrays, name: array}), what


def _reshaped(array: Any, rng: np.random.Generator) -> tuple[Any, str]:
    way = int(rng.integers(5))
    if way == 0:
        return array[:-1], "without its last"
    if way == 1:
        return np.concatenate([array, array[-1:]]) if array.ndim else array[None], "one longer"
    if way == 2:
        return array[:0], "empty"
    if way == 3:
        return array[None], "of a dimension more"
    return array.reshape(-1), "flat"


def _other_value(array: Any, at: tuple[int, ...], rng: np.random.Generator) -> Any:
    kind, old = array.dtype, array[at]
    with np.errstate(all="ignore"):
        if kind == np.bool_:
            return not old
        if kind.kind == "f":
            info = np.finfo(kind)
            return _choose(rng, (np.nan, np.inf, -np.inf, 0, -1, info.max, info.min, old * 1e3))
        limits = np.iinfo(kind)
        near = (int(old) + 1, int(old) - 1, int(old) + 16, len(array), 0, 1, 2, 100)
        bit = int(old) ^ (1 << int(rng.integers(kind.itemsize * 8 - 1)))
        far = (limits.max, limits.min, limits.max // 2, bit, bit, bit)
        value = _choose(rng, (*near, *far))
        return min(max(value, limits.min), limits.max)


def ask(model: Any, X: Any) -> None:
    """Ask a model for all that it can do; errors of ours are answers, too."""
    Y = None
    if hasattr(model, "n_labels_"):
        n = X.shape[0] if sp.issparse(X) else len(X)
        Y = sp.csr_array((np.ones(n), (np.arange(n), np.zeros(n, int))), (n, model.n_labels_))
    if hasattr(model, "classes_"):
        Y = [[model.classes_[0]]] * len(TEXTS)
    calls = [
        ("transform", lambda: model.transform(X)),
        ("predict", lambda: model.predict(X, top_k=3)),
        ("predict_sets", lambda: model.predict_sets(X)),
        ("predict_proba", lambda: model.predict_proba(X, top_k=3)),
        ("score_pairs", lambda: model.score_pairs(X, Y)),
        ("explain", lambda: model.explain(*_explained(model, X))),
        ("senses", lambda: model.senses(_label(model))),
        ("to_state", lambda: model.to_state()),
        ("partial_fit", lambda: model.partial_fit(X, Y)),
        ("remove_labels", lambda: model.remove_labels([_label(model)])),
        ("predict", lambda: model.predict(X[:1], top_k=10**9)),
    ]
    for name, call in calls:
        if hasattr(model, name):
            with suppress(MultitudesError):
                call()


def _label(model: Any) -> Any:
    return model.classes_[0] if hasattr(model, "classes_") else 0


def _explained(model: Any, X: Any) -> tuple[Any, Any]:
    return X[0] if isinstance(X[0] if isinstance(X, list) else None, str) else X[:1], _label(model)


@cache
def stored(name: str) -> State:
    """Return the state of a golden model."""
    return read_state(GOLDEN / name / "model")


def inputs_of(name: str) -> Any:
    """Return what a golden model reads: texts, or rows of numbers."""
    given = json.loads((GOLDEN / name / "expected.json").read_text(encoding="utf-8"))["inputs"]
    if isinstance(given[0], str):
        return TEXTS
    rows = np.array(given, np.float32)
    return rows if name == "dense-features" else sp.csr_array(rows)


def run(name: str, seed: int) -> tuple[str, str]:
    """Run one case; return what came of it, and what was changed."""
    rng = np.random.default_rng([seed, *name.encode()])
    state, what = changed(stored(name), rng)
    sys.stdout.write(f"> {name} {seed} {what}\n")
    sys.stdout.flush()
    try:
        model = build(state)
    except MultitudesError as error:
        return f"refused: {type(error).__name__}", what
    except Exception:
        return "foreign", traceback.format_exc()
    try:
        ask(model, inputs_of(name))
    except Exception:
        return "foreign", traceback.format_exc()
    return "answered", what


def limit_memory(n_bytes: int) -> None:
    """Let the process take only so much beyond what it has."""
    import resource

    import psutil

    most = psutil.Process().memory_info().vms + n_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def main() -> None:
    """Run cases and print what came of them: the last line is JSON."""
    import faulthandler
    import warnings

    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    problems = []
    for name in options.names:
        ask(build(stored(name)), inputs_of(name))  # compiles, imports
        limit_memory(MEMORY)
        for seed in range(options.seed, options.seed + options.cases):
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            outcome, what = run(name, seed)
            faulthandler.cancel_dump_traceback_later()
            counts[outcome] += 1
            if outcome == "foreign":
                problems.append(f"{name} {seed}: {what}")
        shutil.rmtree(_COPIES, ignore_errors=True)
    sys.stdout.write(json.dumps({"counts": counts, "problems": problems}) + "\n")


if __name__ == "__main__":
    main()
