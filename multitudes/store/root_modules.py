"""modules.json at a model's root: it lets sentence-transformers read the encoder inside.

sentence-transformers takes a folder whose `modules.json` says where its modules lie. An encoder is
deep inside a model, in a data folder whose name changes with each save. So a model with exactly one
such folder gets a `modules.json` at its root that points into it, and then
``SentenceTransformer("model")`` works. Our own loading never reads it.
"""

from __future__ import annotations

import json
from pathlib import Path

from multitudes.store.manifest import Manifest

MODULES = "modules.json"


def root_modules(data: Path, manifest: Manifest) -> bytes | None:
    """The content of the root's `modules.json`, or None for a model without an encoder."""
    homes = [h for h in manifest.root.foreign_folders() if f"{h}{MODULES}" in manifest.files]
    if len(homes) != 1:
        return None
    modules = json.loads((data / homes[0] / MODULES).read_bytes())
    inside = f"{manifest.data_folder}/{homes[0]}"
    moved = [{**module, "path": (inside + module["path"]).rstrip("/")} for module in modules]
    return json.dumps(moved, indent=2).encode() + b"\n"


def is_ours(path: Path) -> bool:
    """Whether a `modules.json` is absent, or one that a save wrote and may replace."""
    try:
        return str(json.loads(path.read_bytes())[0]["path"]).startswith("data-")
    except FileNotFoundError:
        return True
    except (OSError, ValueError, LookupError, TypeError):
        return False
