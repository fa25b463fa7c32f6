"""Ways to damage a model folder, drawn as plain values that can be written down and run again."""

from __future__ import annotations

import json
import os
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from campaigns.mutation import INTEGERS

MANIFEST = "manifest.json"
ARRAYS = ".safetensors"
Damage = list[Any]
FLOATS = tuple(struct.pack("<f", v) for v in (np.nan, np.inf, -np.inf, 1e38, -1e38, 0.0))
VALUES = (
    -1, 0, 1, 2, 3, 7, -5, 100, 255, 256, 65535, 65536, 2**31 - 1, -(2**31), 2**31, 2**32,
    4_000_000_000,
    2**40, 2**62, 2**63 - 1, -(2**63), 1e38, -1e38, 1e308, float("nan"), float("inf"),
    -float("inf"), 0.5,
)  # fmt: skip
ODD_JSON = (
    None, True, False, 0, 1, -1, 2, 3, 1.5, 2**31, 2**63, 2**64, 10**30, 1e308, "", "a", "auto",
    "../..",
    "/etc/passwd", "ü" * 40, [], {}, [1], ["a"], {"a": 1}, [[[]]], "float32", "int64",
    "torch.load", "os.system",
)  # fmt: skip
DTYPES = (
    "uint8",
    "int8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bool",
)
LINKS = ("/dev/zero", "/etc/passwd", "manifest.json", "/dev/null", "..", "nowhere")
GONE = "<gone>"


def draw(rng: random.Random, files: Mapping[str, bytes], *, repaired: bool) -> list[Damage]:
    """Return one to three ways to damage a folder with these files."""
    makers = REPAIRED if repaired else AS_IS
    return [rng.choice(makers)(rng, files) for _ in range(rng.choice((1, 1, 1, 2, 3)))]


def _file(rng: random.Random, files: Mapping[str, bytes], ending: str = "") -> str:
    found = [name for name in sorted(files) if name.endswith(ending)]
    return rng.choice(found or sorted(files))


def _overwrite(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    name = _file(rng, files)
    piece = (
        rng.choice(INTEGERS + FLOATS) if rng.random() < 0.7 else rng.randbytes(rng.randint(1, 9))
    )
    at = rng.randrange(len(files[name]) + 1)
    return ["bytes", name, at - at % 4 if rng.random() < 0.7 else at, piece.hex()]


def _flip(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    name = _file(rng, files)
    n_bits = max(8 * len(files[name]), 1)
    return ["flip", name, [rng.randrange(n_bits) for _ in range(rng.randint(1, 32))]]


def _flip_body(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    """Bits after the header of arrays: what no parser can notice."""
    name = _file(rng, files, ARRAYS)
    content = files[name]
    start = 8 + int.from_bytes(content[:8], "little") if name.endswith(ARRAYS) else 0
    if start >= len(content):
        return _flip(rng, files)
    return [
        "flip",
        name,
        [rng.randrange(8 * start, 8 * len(content)) for _ in range(rng.randint(1, 4))],
    ]


def _cut(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    name = _file(rng, files)
    return ["cut", name, rng.randrange(len(files[name]) + 1)]


def _extend(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    return ["extend", _file(rng, files), rng.randbytes(rng.randint(1, 20)).hex()]


def _zero(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    name = _file(rng, files)
    start = rng.randrange(len(files[name]) + 1)
    return ["bytes", name, start, bytes(rng.randint(1, 64)).hex()]


def _swap(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    return ["swap", _file(rng, files), _file(rng, files)]


def _replace(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    return [rng.choice(("delete", "fifo", "folder")), _file(rng, files)]


def _link(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    return ["link", _file(rng, files), rng.choice(LINKS)]


def _stray(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    folder = Path(_file(rng, files)).parent
    name = rng.choice(("pytorch_model.bin", "a.py", "arrays.safetensors", "x", "config.json"))
    return ["extend", str(folder / name), rng.randbytes(10).hex()]


def _json(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    """Change one value of a JSON file, above all of the manifest."""
    jsons = [name for name in sorted(files) if name.endswith(".json") and name != MANIFEST]
    name = rng.choice(jsons) if jsons and rng.random() < 0.3 else MANIFEST
    content = json.loads(files[name])
    root = ["object"] if name == MANIFEST and rng.random() < 0.8 else []
    paths = list(_paths(content["object"] if root else content))
    path = root + rng.choice(paths)
    value = GONE if rng.random() < 0.1 else rng.choice(ODD_JSON)
    if rng.random() < 0.2:
        value = _at(content, root + rng.choice(paths))
    return ["json", name, path, value]


def _paths(content: Any, before: Sequence[Any] = ()) -> list[list[Any]]:
    found = [list(before)]
    if isinstance(content, dict):
        found += [path for key in content for path in _paths(content[key], [*before, key])]
    elif isinstance(content, list):
        found += [path for i in range(len(content)) for path in _paths(content[i], [*before, i])]
    return found


def _at(content: Any, path: Sequence[Any]) -> Any:
    for key in path:
        content = content[key]
    return content


def _array(rng: random.Random, files: Mapping[str, bytes]) -> Damage:
    """Change values of an array, its dtype or its length; header and manifest are made to fit."""
    name = _file(rng, files, ARRAYS)
    if not name.endswith(ARRAYS):
        return _json(rng, files)
    arrays = read_arrays(files[name])
    if not arrays:
        return _json(rng, files)
    key = rng.choice(sorted(arrays))
    choice = rng.random()
    if choice < 0.7:
        size = max(arrays[key].size, 1)
        places = [rng.randrange(size) for _ in range(rng.choice((1, 1, 2, 5)))]
        if rng.random() < 0.1:
            places = list(range(min(size, 2000)))
        value = rng.choice(VALUES)
        if rng.random() < 0.3:
            value = int(arrays[key].shape[0] if arrays[key].ndim else 1) + rng.randint(-2, 2)
        return ["set", name, key, places, repr(value)]
    if choice < 0.8:
        return ["dtype", name, key, rng.choice(DTYPES)]
    if choice < 0.95:
        return ["resize", name, key, rng.choice((-1, 1, -2, 5, -1000, 100))]
    return ["reshape", name, key, rng.choice(([-1], [1, -1], [-1, 1], [0], []))]


_MAKERS = (_overwrite, _flip, _flip_body, _cut, _swap, _replace, _link, _json)
AS_IS = (*_MAKERS, _flip, _flip_body, _flip_body, _extend, _zero, _stray)
REPAIRED = (*_MAKERS, _json, _flip_body, *(_array,) * 6)


# Doing it ----------------------------------------------------------------------------------------


def apply(damage: Damage, folder: Path) -> None:
    """Damage a folder in one way; what cannot be done is left."""
    kind, name, *rest = damage
    path = folder / name
    if kind in CHANGES:
        if _is_plain(path):
            content = CHANGES[kind](path.read_bytes(), *rest)
            if content is not None:
                path.write_bytes(content)
                if kind in ("dtype", "resize", "reshape"):
                    _enter_shape(folder, name, rest[0], content)
        elif kind == "extend" and not os.path.lexists(path) and path.parent.is_dir():
            path.write_bytes(bytes.fromhex(rest[0]))
    elif kind == "swap" and _is_plain(path) and _is_plain(folder / rest[0]):
        other = folder / rest[0]
        first, second = path.read_bytes(), other.read_bytes()
        path.write_bytes(second)
        other.write_bytes(first)
    elif kind in ("delete", "fifo", "folder", "link") and not path.is_dir():
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(rest[0])


def _is_plain(path: Path) -> bool:
    """Whether it is a file: a pipe or a device that an earlier damage left is never read."""
    return path.is_file() and not path.is_symlink()


def _overwritten(content: bytes, at: int, piece: str) -> bytes:
    new = bytes.fromhex(piece)
    return content[:at] + new + content[at + len(new) :]


def _flipped(content: bytes, bits: list[int]) -> bytes:
    changed = bytearray(content)
    for bit in bits:
        if bit // 8 < len(changed):
            changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _with_json(content: bytes, path: list[Any], value: Any) -> bytes | None:
    try:
        whole = {"": json.loads(content)}
        place: Any = whole
        keys = ["", *path]
        for key in keys[:-1]:
            place = place[key]
        if value == GONE:
            del place[keys[-1]]
        else:
            place[keys[-1]] = value
    except (ValueError, LookupError, TypeError):
        return None
    return json.dumps(whole.get("")).encode()


def read_arrays(content: bytes) -> dict[str, Any]:
    """Return the arrays of a safetensors file; none if it cannot be read."""
    from safetensors.numpy import load

    try:
        return load(content)
    except Exception:  # noqa: BLE001 - it may be damaged already, or hold bfloat16
        return {}


def _with_array(content: bytes, key: str, change: Any) -> bytes | None:
    from safetensors.numpy import save

    arrays = read_arrays(content)
    if key not in arrays:
        return None
    with np.errstate(all="ignore"):
        arrays[key] = np.ascontiguousarray(change(arrays[key].copy()))
    return bytes(save(arrays))


def _with_values(content: bytes, key: str, places: list[int], value: str) -> bytes | None:
    def change(array: Any) -> Any:
        flat = array.reshape(-1)
        number = float(value)
        if array.dtype.kind in "iu":
            finite = int(number) if np.isfinite(number) else 2**31
            width = 8 * array.dtype.itemsize
            number = np.array(finite % (1 << width), f"u{array.dtype.itemsize}").view(array.dtype)
        flat[[place for place in places if place < len(flat)]] = number
        return flat.reshape(array.shape)

    return _with_array(content, key, change)


def _with_dtype(content: bytes, key: str, dtype: str) -> bytes | None:
    return _with_array(content, key, lambda array: array.astype(dtype))


def _with_length(content: bytes, key: str, by: int) -> bytes | None:
    def change(array: Any) -> Any:
        if array.ndim == 0 or not len(array):
            return array
        if by < 0:
            return array[: max(len(array) + by, 0)]
        return np.concatenate([array, np.repeat(array[-1:], by, axis=0)])

    return _with_array(content, key, change)


def _with_shape(content: bytes, key: str, shape: list[int]) -> bytes | None:
    def change(array: Any) -> Any:
        if shape in ([0], []):
            return np.zeros(shape, array.dtype)
        return array.reshape(shape)

    return _with_array(content, key, change)


CHANGES: dict[str, Any] = {
    "bytes": _overwritten,
    "flip": _flipped,
    "cut": lambda content, n_bytes: content[:n_bytes],
    "extend": lambda content, piece: content + bytes.fromhex(piece),
    "json": _with_json,
    "set": _with_values,
    "dtype": _with_dtype,
    "resize": _with_length,
    "reshape": _with_shape,
}


def _enter_shape(folder: Path, name: str, key: str, content: bytes) -> None:
    """Write the new dtype and shape of an array into the manifest."""
    array = read_arrays(content).get(key)
    if not _is_plain(folder / MANIFEST):
        return
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        entry = manifest["object"]
        for part in Path(name).parts[1:-1]:
            entry = entry["parts"][part]
        if array is not None:
            entry["arrays"][key] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    except (ValueError, LookupError, TypeError, OSError):
        return
    (folder / MANIFEST).write_text(json.dumps(manifest))


def repair(folder: Path) -> None:
    """Make sizes, checksums and the checksum of the manifest those of the damaged files."""
    import hashlib

    from multitudes.store.manifest import _checksum

    if not _is_plain(folder / MANIFEST):
        return
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        data = folder / str(manifest["data"])
        for name, entry in manifest["files"].items():
            path = data / name
            if not _is_plain(path):
                continue
            content = path.read_bytes()
            entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            if "xxh3_64" in entry:
                import xxhash

                entry["xxh3_64"] = xxhash.xxh3_64(content).hexdigest()
        manifest.pop("checksum", None)
        manifest["checksum"] = _checksum(manifest)
    except (ValueError, LookupError, TypeError, AttributeError, OSError):
        return
    (folder / MANIFEST).write_text(json.dumps(manifest))
