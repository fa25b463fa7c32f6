"""--label-names: a tagger from the names of labels, without any training text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitudes.cli.files.streams import Reading, local_path, remark
from multitudes.cli.training.holding_out import calibrate
from multitudes.cli.training.report import Trained
from multitudes.errors import ConfigError, DataError

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.data.vocabularies import Vocabulary
    from multitudes.tagger import Tagger


def saved_by_names(
    tagger: Tagger, names: Path, folder: Path, validation: str | None, reading: Reading
) -> Trained:
    """Learn names of labels, calibrate on a validation file if there is one, and save."""
    from multitudes.data.vocabularies.vocabulary import named_by
    from multitudes.tagger.assembly import learns_from_names
    from multitudes.tagger.cold_start import fit_to_names

    if not learns_from_names(tagger.model):
        raise ConfigError(
            f"--model {tagger.model} learns from texts, and --label-names has none: leave --model "
            "out, or take lexical or dpr"
        )
    with local_path(names) as file:
        dataset, vocabulary = read_names(file)
    held_out = None
    if validation is not None:
        held_out = reading.dataset(Path(validation), split="dev", require_labels=True)
        if vocabulary is not None and held_out.label_names is not None:
            held_out = named_by(held_out, vocabulary, str(names))
    started = time.perf_counter()
    tagger = fit_to_names(tagger, dataset)
    if held_out is not None:
        calibrate(tagger, held_out)
    elif not reading.quiet:
        remark("how good it is, --validation FILE says: some texts with their labels")
    seconds = time.perf_counter() - started
    tagger.save(folder)
    return Trained(tagger, dataset, held_out, folder, seconds, {})


def read_names(path: Path) -> tuple[Dataset, Vocabulary | None]:
    """Return a Dataset of labels without instances, and the vocabulary if the file is one.

    Parameters
    ----------
    path : Path
        By its suffix a vocabulary, see `multitudes.data.read_vocabulary`; else a name on each
        line, with semicolons between several names of one label.
    """
    import numpy as np
    from scipy.sparse import csr_array

    from multitudes.cli.files.label_lists import lines_of
    from multitudes.data import Dataset, read_vocabulary
    from multitudes.data.compression import uncompressed_suffix
    from multitudes.data.vocabularies.vocabulary import RDF_SUFFIXES, TABLE_SUFFIXES

    vocabulary, texts, titles = None, None, None
    if uncompressed_suffix(path) in (*RDF_SUFFIXES, *TABLE_SUFFIXES):
        vocabulary = read_vocabulary(path)
        names = list(vocabulary.titles)
        texts = [vocabulary.texts[name] for name in names]
        titles = [vocabulary.titles[name] for name in names]
    else:
        names = list(dict.fromkeys(lines_of(path)))
    if not names:
        raise DataError(f"{path} has no names of labels; expected one on each line")
    Y: Any = csr_array((0, len(names)), dtype=np.float32)
    dataset = Dataset(Y=Y, texts=[], label_names=names, label_texts=texts, label_titles=titles)
    return dataset, vocabulary
