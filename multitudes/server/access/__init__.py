"""Who may ask: keys, and pages of other sites."""

from multitudes.server.access.access import Access
from multitudes.server.access.keys import Keys

__all__ = ["Access", "Keys"]
