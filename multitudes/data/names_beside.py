"""Names of labels and features, kept beside a file of numbers: `label_file`, `feature_file`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from multitudes.data.dataset import Dataset
from multitudes.data.feature_file import find_feature_file, read_feature_file, write_feature_file
from multitudes.data.label_file import find_label_file, read_label_file, write_label_file
from multitudes.data.label_space import LabelSpace
from multitudes.errors import DataError
from multitudes.types import Sparse


@dataclass(frozen=True)
class NamesBeside:
    """The names found in a folder, and where; None where there is no file."""

    labels: LabelSpace | None
    features: Sequence[str] | None
    label_path: Path | None
    feature_path: Path | None

    @classmethod
    def of(cls, folder: Path) -> NamesBeside:
        """Read the names that a folder holds."""
        label_path, feature_path = find_label_file(folder), find_feature_file(folder)
        return cls(
            labels=None if label_path is None else read_label_file(label_path),
            features=None if feature_path is None else read_feature_file(feature_path),
            label_path=label_path,
            feature_path=feature_path,
        )

    def dataset(self, X: Sparse, Y: Sparse) -> Dataset:
        """X and Y with their names, which must be as many as there are columns."""
        if self.labels is not None:
            _check_count(self.label_path, len(self.labels), Y.shape[1], "labels")
        if self.features is not None:
            _check_count(self.feature_path, len(self.features), X.shape[1], "features")
        return Dataset(
            Y=Y,
            X=X,
            label_names=None if self.labels is None else self.labels.names,
            label_texts=None if self.labels is None else self.labels.texts,
            feature_names=self.features,
        )


def write_names(dataset: Dataset, folder: Path) -> None:
    """Write the files of names of a Dataset that has names."""
    if dataset.label_names or dataset.label_texts:
        write_label_file(dataset, folder)
    if dataset.feature_names:
        write_feature_file(dataset.feature_names, folder)


def _check_count(path: Path | None, n_names: int, expected: int, what: str) -> None:
    if n_names != expected:
        raise DataError(
            f"{path} names {n_names:,} {what}, but the data beside it has {expected:,}: correct "
            "either, or move the file of names away"
        )
