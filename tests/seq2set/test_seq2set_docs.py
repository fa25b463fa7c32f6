"""The example of docs/seq2set.md runs, and its tables agree with the code."""

import dataclasses
import re
from pathlib import Path

from multitudes.seq2set import PRESETS, DecodingConfig

PAGE = (Path(__file__).parents[2] / "docs" / "seq2set.md").read_text()


def test_the_example_runs():
    names: dict[str, object] = {}
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example, names)
    found = names["model"].predict_sets(["a cat at the lake"]).labels[0]
    assert sorted(found.tolist()) == [0, 3]


def test_the_tables_name_what_there_is():
    for name in PRESETS:
        assert f"`{name.removesuffix('+lc') if 'seq' in name or 'sgm' in name else name}`" in PAGE
    for field in dataclasses.fields(DecodingConfig):
        assert f"| `{field.name}` | " in PAGE
