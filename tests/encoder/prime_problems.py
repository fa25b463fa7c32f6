"""Small problems for Prime, and settings that train on them in a second or few."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from multitudes.data import make_catalogue, split
from multitudes.deep.training import TrainingConfig
from multitudes.encoder.backbone.model import BackboneConfig
from multitudes.encoder.prime import Prime
from multitudes.encoder.sampling import SamplerConfig

SMALL = BackboneConfig(
    name="scratch", max_length=24, scratch_layers=1, scratch_dim=32, scratch_vocabulary=2048
)
QUICK = TrainingConfig(epochs=8, learning_rate=5e-3, warmup_steps=5, device="cpu")
BATCH = SamplerConfig(batch_size=64)
COLOURS = ["red", "blue", "green", "black", "white", "brown"]
THINGS = ["box", "car", "tree", "house", "bird", "shoe"]
FILLING = ["old", "new", "small", "large", "cheap", "fine", "very", "made", "sold", "found"]


def prime(**changes):
    """An unfitted Prime with a small encoder of its own."""
    settings = {"backbone": SMALL, "training": QUICK, "sampler": BATCH}
    return Prime(**(settings | changes))


def epochs(n, **changes):
    """Settings of a training of `n` epochs."""
    return dataclasses.replace(QUICK, epochs=n, **changes)


def lines():
    """Lines of the catalogue that have a label, split in two."""
    whole = make_catalogue(n_instances=2000, n_labels=60, random_state=3).dataset
    return split(whole.take(np.flatnonzero(np.diff(whole.Y.indptr))), test_size=0.2, random_state=0)


def colors(n=48, labels=tuple(COLOURS)):
    """(texts, Y, label texts): a text names its one label, and has a number of its own."""
    ids = np.arange(n) % len(labels)
    texts = [f"a {labels[i]} thing number {row}" for row, i in enumerate(ids)]
    Y = sp.csr_array((np.ones(n, np.float32), (np.arange(n), ids)), shape=(n, len(labels)))
    return texts, Y, list(labels)


def things(n_each=10):
    """(texts, Y, label texts): pairs of a color and a thing, in lines with other words."""
    rng = np.random.default_rng(0)
    names = [f"{color} {thing}" for color in COLOURS for thing in THINGS]
    ids = np.repeat(np.arange(len(names)), n_each)
    words = rng.choice(FILLING, (len(ids), 3))
    texts = [f"{a} {names[i]} {b} {c}" for i, (a, b, c) in zip(ids, words, strict=True)]
    cells = (np.ones(len(ids), np.float32), (np.arange(len(ids)), ids))
    return texts, sp.csr_array(cells, shape=(len(ids), len(names))), names


def weights(model):
    """All that was learned, by name."""
    return {name: value.numpy() for name, value in model.network_.state_dict().items()}
