import itertools
import json
import random

import pytest

WORDS = [f"word{i}" for i in range(300)]


@pytest.fixture(scope="session")
def lines():
    """Instances that can be learned: labels have words of their own; some have no label."""
    rng = random.Random(0)
    made = []
    for i in range(1200):
        labels = sorted({rng.randrange(180) for _ in range(rng.randrange(4))})
        own = [WORDS[(7 * label + rng.randrange(3)) % 300] for label in labels for _ in range(3)]
        text = " ".join([*own, *rng.choices(WORDS, k=4)])
        made.append(
            json.dumps({"text": text, "labels": [f"l{one}" for one in labels], "uid": str(i)})
        )
    return made


@pytest.fixture
def shards(lines, tmp_path):
    """The instances in five files of different lengths, and in one."""
    folder = tmp_path / "shards"
    folder.mkdir()
    cuts = [0, 100, 420, 421, 900, 1200]
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        (folder / f"part-{i}.jsonl").write_text("\n".join(lines[a:b]) + "\n")
    (tmp_path / "whole.jsonl").write_text("\n".join(lines) + "\n")
    return folder
