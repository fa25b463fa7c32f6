"""The page on groups: the Python that shows how labels are imputed runs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.groups.problems import words_of_labels

PAGE = (Path(__file__).parents[2] / "docs" / "groups.md").read_text()
METHOD = PAGE.split("## How labels are imputed")[1].split("\n## ")[0]


def test_the_python_runs() -> None:
    X, Y, groups, group_labels = words_of_labels()
    (code,) = re.findall(r"```python\n(.*?)```", METHOD, flags=re.DOTALL)
    names = {"X": X, "groups": groups, "group_labels": group_labels}
    exec(code, names)
    assert names["imputation"].Y.shape == Y.shape
    assert names["embeddings"].shape == (Y.shape[1], X.shape[1])
    assert names["baseline"].nnz > Y.nnz
    assert names["model"].fit(X, groups, group_labels).score(X, Y) > 0.9
