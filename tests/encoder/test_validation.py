"""Validation measures what prediction would give."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from multitudes.encoder.validation import Validation
from multitudes.metrics import precision_at_k, recall_at_k
from tests.encoder.prime_problems import colors, epochs, prime


def test_it_measures_what_prediction_gives():
    texts, Y, names = colors()
    model = prime(training=epochs(2)).fit(texts, Y, label_texts=names)
    backbone = model.network_.backbone
    measure = Validation(backbone.tokenize(texts).rows, Y, model.label_rows_)
    found = model.predict(texts, top_k=100)
    measured = measure(model.network_)
    assert measured["P@1"] == pytest.approx(precision_at_k(found, Y, k=1))
    assert measured["P@5"] == pytest.approx(precision_at_k(found, Y, k=5))
    assert measured["R@100"] == pytest.approx(recall_at_k(found, Y, k=100)) == 1
    assert np.isfinite(list(measured.values())).all()


def test_it_leaves_the_network_as_it_was():
    texts, Y, names = colors()
    model = prime(training=epochs(1)).fit(texts, Y, label_texts=names)
    model.network_.train()
    Validation(model.network_.backbone.tokenize(texts).rows, Y, model.label_rows_)(model.network_)
    assert model.network_.training
    assert model.network_.backbone.training
