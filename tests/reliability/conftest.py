"""What several tests of reliability use."""

from __future__ import annotations

from tests.server.conftest import shop_tagger

__all__ = ["shop_tagger"]
