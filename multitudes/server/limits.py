"""What clients may ask for, and how long they may take."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting


@dataclass(frozen=True)
class Limits(Config):
    """What one client may take, so that it does not keep the server from all others."""

    max_texts: int = setting(1000, "Texts of one request.", at_least=1)
    max_characters: int = setting(2_000_000, "Characters of all its texts together.", at_least=1)
    max_top_k: int = setting(1000, "Labels of each text that may be asked for.", at_least=1)
    max_body: int = setting(16_000_000, "Bytes of one request.", at_least=1)
    max_held: int = setting(
        128_000_000, "Bytes of all requests and answers held at once.", at_least=1
    )
    max_corrections: int = setting(1_000_000_000, "Bytes of the file of corrections.", at_least=1)
    max_waiting: int = setting(256, "Requests that wait for the model.", at_least=1)
    max_connections: int = setting(
        1000, "Open connections; fewer if the system allows fewer open files.", at_least=1
    )
    header_seconds: float = setting(10.0, "For a client to send its headers.", above=0)
    body_seconds: float = setting(60.0, "For a client to send the rest of its request.", above=0)
    answer_seconds: float = setting(
        60.0, "For an answer to be found, waiting for the model included.", above=0
    )
    write_seconds: float = setting(
        30.0, "For a client to take more of its answer when it has stopped.", above=0
    )
    idle_seconds: float = setting(30.0, "For a client to send another request.", above=0)
    grace_seconds: float = setting(
        8.0, "For requests to be answered after the server was told to stop.", at_least=0
    )
