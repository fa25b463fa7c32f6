"""Small data, and a model, for the code of the pages."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import Dataset, Tagger, XRLinear
from multitudes.data import make_catalogue, split, write_dataset
from multitudes.features import TfidfFeatures
from multitudes.groups import merge_labels, random_groups
from tests.interchange.make_fixtures import FIXTURES


@pytest.fixture(scope="session")
def parts() -> dict[str, Dataset]:
    """Data of a small shop, in three parts."""
    rest, test = split(make_catalogue(1500, n_labels=120, random_state=3).dataset, test_size=300)
    train, validation = split(rest, test_size=300)
    return {"train": train, "validation": validation, "test": test}


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory, parts: dict[str, Dataset]) -> Path:
    """A folder with that data in files, and a calibrated model of it in `models/`."""
    folder = tmp_path_factory.mktemp("shop")
    for name, dataset in parts.items():
        write_dataset(dataset, folder / f"{name}.jsonl")
    write_dataset(parts["train"], folder / "my.csv")
    write_dataset(parts["test"], folder / "test.csv")
    write_dataset(parts["validation"], folder / "new.csv")
    write_packages(parts["train"], folder / "Packages.xz")
    tagger = Tagger("xr-linear", n_jobs=1).fit(parts["train"])
    tagger.calibrate(parts["validation"]).save(folder / "models" / "model")
    add_foreign_models(folder / "models")
    return folder


def add_foreign_models(folder: Path) -> None:
    """Models that PECOS and omikuji have saved, and features that they take."""
    kept = {
        "pecos-model": "pecos/binary/model",
        "omikuji-model": "omikuji/uneven/model",
        "text2text-model": "texts/bigrams-and-characters/model",
    }
    for name, path in kept.items():
        shutil.copytree(FIXTURES / path, folder / name)
    X = sp.csr_array(sp.load_npz(FIXTURES / "pecos" / "X_test.npz"))
    Y = sp.csr_array((np.ones(len(X.indptr) - 1), ([*range(X.shape[0])], [0] * X.shape[0])))
    write_dataset(Dataset(X=X, Y=Y), folder / "rows.txt")
    (folder / "names.txt").write_text("".join(f"label {i}\n" for i in range(16)))


def write_packages(dataset: Dataset, path: Path) -> None:
    """Data in the format of Debian's lists of packages."""
    assert dataset.texts is not None
    with lzma.open(path, "wt", encoding="utf-8") as file:
        for i, text in enumerate(dataset.texts):
            tags = [label.replace(", ", " ") for label in dataset.labels_of(i)]
            lines = [f"Package: package-{i}", f"Source: source-{i // 2}", f"Description: {text}"]
            if tags:
                lines.append(f"Tag: {tags[0]}" + "".join(f",\n {tag}" for tag in tags[1:]))
            file.write("\n".join(lines) + "\n\n")


@pytest.fixture(scope="session")
def givens(parts: dict[str, Dataset]) -> dict[str, object]:
    """Names that pages use without saying where they come from: data as the page speaks of it."""
    train, test = parts["train"], parts["test"]
    features = TfidfFeatures(n_jobs=1)
    assert train.texts is not None
    assert test.texts is not None
    X = features.fit_transform(train.texts)
    X_test = features.transform(test.texts)
    groups = random_groups(len(train), 4, random_state=0)
    model = XRLinear(n_jobs=1).fit(X, train.Y)
    found = model.predict(X_test, top_k=10)
    return {
        **parts,
        "texts": list(train.texts),
        "labels": [train.labels_of(i) for i in range(len(train))],
        "test_texts": list(test.texts),
        "test_labels": [test.labels_of(i) for i in range(len(test))],
        "X": X,
        "Y": train.Y,
        "Y_train": train.Y,
        "X_test": X_test,
        "Y_test": test.Y,
        "X_val": features.transform(parts["validation"].texts),
        "Y_val": parts["validation"].Y,
        "feature_names": features.feature_names,
        "X_new": X_test,
        "Y_new": test.Y,
        "Y_more": sp.hstack([test.Y, test.Y[:, :2]], format="csr"),
        "groups": groups,
        "group_labels": merge_labels(train.Y, groups),
        "test_groups": random_groups(len(test), 4, random_state=0),
        "model": model,
        "predictions": found,
        "a": found,
        "b": model.predict(X_test, top_k=10, beam_width=1),
    }
