"""What is served: XR-Linear, trained once and kept in .cache/, and the requests that ask it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.machine import ROOT
from multitudes import Tagger, read_dataset
from multitudes.data import ReadOptions

CACHE = ROOT / ".cache" / "serving"
N_TEXTS = 1000
LIMIT = 5  # labels of a text, ours by default


@dataclass(frozen=True)
class Problem:
    """A model and files with a request on each line, for us and for Annif."""

    name: str
    model: Path
    bodies: Path
    forms: Path

    @classmethod
    def of(cls, data: Path) -> Problem:
        """Return the problem of a data set; what is missing is made."""
        folder = CACHE / data.name
        problem = cls(data.name, folder / "model", folder / "bodies.jsonl", folder / "forms.txt")
        if not problem.forms.exists():
            folder.mkdir(parents=True, exist_ok=True)
            problem._make(data)
        return problem

    def _make(self, data: Path) -> None:
        print(f"training on {data.name} ...", file=sys.stderr)
        train = read_dataset(data, options=ReadOptions(split="trn"))
        Tagger("xr-linear").fit(train).save(self.model)
        split = "tst" if list(data.glob("tst.*")) else "dev"
        test = read_dataset(data, labels=train, options=ReadOptions(split=split))
        texts = [" ".join(text.split()) for text in list(test.texts or ())[:N_TEXTS]]
        self.bodies.write_text("\n".join(json.dumps({"texts": [text]}) for text in texts))
        forms = (urlencode({"text": text, "limit": LIMIT}) for text in texts)
        self.forms.write_text("\n".join(forms))
