"""Models of other libraries, read from their own folders: PECOS and omikuji.

Names load on first use: which library wrote a folder is asked of every folder that is converted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.lazy import lazy_names

__all__ = ["import_model", "library_of"]

if TYPE_CHECKING:
    from multitudes.interchange.importing import import_model
    from multitudes.interchange.recognition import library_of
else:
    _HOMES = {
        "import_model": "multitudes.interchange.importing",
        "library_of": "multitudes.interchange.recognition",
    }
    __getattr__ = lazy_names(__name__, _HOMES)
