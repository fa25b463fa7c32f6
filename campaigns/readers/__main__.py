"""``python -m campaigns.readers``: mutated files for everything that is read."""

from __future__ import annotations

import sys

from campaigns.framework import main
from campaigns.readers.file_campaign import FileCampaign
from campaigns.readers.targets import all_targets


class Readers(FileCampaign):
    """No file can crash a reader, or make it hang, take memory, or raise a foreign error."""

    name = "readers"

    def __init__(self) -> None:
        super().__init__(all_targets())


if __name__ == "__main__":
    sys.exit(main(Readers()))
