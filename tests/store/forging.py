"""Change a stored model as somebody does who also writes the right checksums into its manifest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from multitudes.store.checksums import entries_of
from multitudes.store.manifest import _checksum


def data_of(model: Path) -> Path:
    """The data folder of a model."""
    return model / json.loads((model / "manifest.json").read_bytes())["data"]


def forge(model: Path, change: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Write sizes and checksums of all files anew, change the manifest, and seal it."""
    content = json.loads((model / "manifest.json").read_bytes())
    content.pop("checksum", None)
    homes = _homes(content["object"])
    data = data_of(model)
    there = {str(p.relative_to(data)) for p in data.rglob("*") if p.is_file()}
    names = [name for name in there if name in content["files"] or name.startswith(tuple(homes))]
    content["files"] = {
        name: {"bytes": entry.n_bytes, "sha256": entry.sha256, "xxh3_64": entry.xxh3_64}
        for name, entry in entries_of(data, names).items()
    }
    if change is not None:
        change(content)
    content["checksum"] = _checksum(content)
    (model / "manifest.json").write_text(json.dumps(content))


def _homes(entry: dict[str, Any], place: str = "") -> list[str]:
    own = [f"{place}{name}/" for name in entry["folders"]]
    inner = [h for n, part in entry["parts"].items() for h in _homes(part, f"{place}{n}/")]
    return own + inner
