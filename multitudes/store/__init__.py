"""Models on disk: a folder of JSON and safetensors; nothing executes on load."""

from multitudes.store.loading import load, read_manifest, read_state
from multitudes.store.manifest import Manifest
from multitudes.store.registry import build, register
from multitudes.store.saving import save
from multitudes.store.state import State, Storable

__all__ = [
    "Manifest",
    "State",
    "Storable",
    "build",
    "load",
    "read_manifest",
    "read_state",
    "register",
    "save",
]
