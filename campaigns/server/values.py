"""Values for the fields of requests: as the schema has them, and as it has not."""

from __future__ import annotations

import random
import string
from typing import Any

KINDS = ["scores", "probabilities", "sets"]
WORDS = ["a", "leather", "belt", "silver", "spoon", "oak", "desk", "", " ", "\u0000", "漢字", "😀"]
NUMBERS = [0, 1, -1, 5, 1000, 1001, 2**31, 2**63, 2**64, 10**30, 0.5, -0.0, 1e308, 1e-320, 2.0]


def legal_request(rng: random.Random) -> dict[str, Any]:
    """Return a request for tags that the server must answer."""
    found: dict[str, Any] = {"texts": [text(rng) for _ in range(rng.choice([0, 1, 1, 2, 7, 300]))]}
    if rng.random() < 0.5:
        found["kind"] = rng.choice(KINDS)
    if rng.random() < 0.5:
        found["top_k"] = rng.choice([1, 2, 5, 30, 1000])
    if rng.random() < 0.3:
        found["threshold"] = rng.choice([-1e9, 0.0, 0.1, 1, 1e300])
    return found


def request(rng: random.Random) -> Any:
    """Return a request that is nearly what the schema says, or anything."""
    if rng.random() < 0.05:
        return anything(rng)
    if rng.random() < 0.2:
        found: dict[str, Any] = {"text": text(rng), "label": rng.choice(["belt", "x", ""])}
    else:
        found = legal_request(rng)
    for _ in range(rng.randrange(1, 3)):
        name = rng.choice([*found, "top_k", "kind", "threshold", "texts", "label", "unknown", ""])
        if rng.random() < 0.2:
            found.pop(name, None)
        elif name == "texts" and rng.random() < 0.5:
            found["texts"] = [*found.get("texts", []), anything(rng)]
        else:
            found[name] = anything(rng)
    return found


def text(rng: random.Random) -> str:
    """Return a text of some words."""
    if rng.random() < 0.1:
        return "".join(chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)]))
                       for _ in range(rng.randrange(30)))  # fmt: skip
    return " ".join(rng.choices(WORDS, k=rng.randrange(rng.choice([4, 40, 400]))))


def anything(rng: random.Random, depth: int = 0) -> Any:
    """Return any value that JSON can have."""
    choice = rng.randrange(7 if depth < 4 else 5)
    if choice == 0:
        return rng.choice([None, True, False])
    if choice in (1, 2):
        return rng.choice(NUMBERS)
    if choice in (3, 4):
        return text(rng)
    size = rng.choice([0, 1, 3, 2000 if depth == 0 else 3])
    if choice == 5:
        return [anything(rng, depth + 1) for _ in range(size)]
    keys = ["".join(rng.choices(string.ascii_letters, k=3)) for _ in range(size)]
    return {key: anything(rng, depth + 1) for key in keys}
