"""A small tagger to serve."""

from __future__ import annotations

import pytest

from multitudes import Tagger
from multitudes.data import make_catalogue


@pytest.fixture(scope="session")
def shop_tagger():
    shop = make_catalogue(900, n_labels=30, random_state=1).dataset
    return Tagger("xr-linear", n_jobs=1).fit(shop[:600]).calibrate(shop[600:])
