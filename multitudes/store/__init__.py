"""Models on disk: a folder of JSON and safetensors; nothing executes on load."""

from multitudes.store.state import State, Storable

__all__ = ["State", "Storable"]
