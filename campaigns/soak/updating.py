"""``python -m campaigns.soak.updating FOLDER``: update a model again and again, in one process.

Each round starts with the model as it was, learns some instances and labels, and saves over the
model that is being served. Prints the number of rounds after each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from multitudes import Tagger
from multitudes.data import make_catalogue
from multitudes.tagger import update_tagger


def main(folder: Path) -> None:
    news = make_catalogue(1200, n_labels=80, random_state=7).dataset
    rounds = 0
    while True:
        tagger = Tagger.load(folder / "base")
        update_tagger(tagger, news[rounds * 50 % 1000 :][:50])
        tagger.save(folder / "live")
        rounds += 1
        print(rounds, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
