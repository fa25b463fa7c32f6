"""Models on disk: a folder of JSON and safetensors; nothing executes on load."""

from multitudes.store import checks
from multitudes.store.loading import load, read_manifest, read_state
from multitudes.store.manifest import Manifest
from multitudes.store.migration import build
from multitudes.store.registry import register, state_of
from multitudes.store.saving import save
from multitudes.store.state import Checked, State, Storable, Versioned

__all__ = [
    "Checked",
    "Manifest",
    "State",
    "Storable",
    "Versioned",
    "build",
    "checks",
    "load",
    "read_manifest",
    "read_state",
    "register",
    "save",
    "state_of",
]
