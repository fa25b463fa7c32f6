"""Problem 20, formats: pairs of the XC repository, and CSV of labels that hold ; and |."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multitudes.data import Dataset, read_dataset, write_dataset

LABELS = [["a;b", "c|d"], ["c|d"], ["e, f", " g"], [], ['say "h"']]


def test_labels_with_all_separators_survive_csv(tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(len(LABELS))]
    for name in ("d.csv", "d.tsv", "d.csv.gz"):
        write_dataset(Dataset.from_lists(texts, LABELS), tmp_path / name)
        again = read_dataset(tmp_path / name)
        assert [sorted(again.labels_of(i)) for i in range(5)] == [sorted(row) for row in LABELS]


def test_plain_labels_are_written_as_people_expect(tmp_path: Path) -> None:
    dataset = Dataset.from_lists(["t"], [["belts", "leather goods"]])
    write_dataset(dataset, tmp_path / "d.csv")
    assert '"belts;leather goods"' in (tmp_path / "d.csv").read_text()


def test_a_pair_of_the_repository_is_read_and_learned_from(cli, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for split, n in (("trn", 40), ("tst", 10)):
        rows = rng.integers(0, 3, n)
        features = "".join(
            f"{row}:1.0 {row + 3}:{0.5 + i / 99:.3f}\n" for i, row in enumerate(rows)
        )
        labels = "".join(f"{row}:1.0\n" for row in rows)
        (tmp_path / f"{split}_X_Xf.txt").write_text(f"{n} 6\n{features}")
        (tmp_path / f"{split}_X_Y.txt").write_text(f"{n} 3\n{labels}")
    dataset = read_dataset(tmp_path)
    assert (len(dataset), dataset.n_features, dataset.n_labels) == (40, 6, 3)
    result = cli("train", tmp_path, "--test", tmp_path, "-o", tmp_path / "model", "--json", "-q")
    assert result.code == 0
    assert result.json["test"]["values"]["P@1"] == 1.0
    by_file = cli("train", tmp_path / "trn_X_Y.txt", "-o", tmp_path / "again", "-q")
    assert by_file.code == 0
