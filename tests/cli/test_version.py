from __future__ import annotations

import numpy as np

import multitudes


def test_version(cli):
    facts = cli("version", "--json").json
    assert facts["multitudes"] == multitudes.__version__
    assert facts["numpy"] == np.__version__
    assert int(facts["cores"]) >= 1
    assert multitudes.__version__ in cli("version").out
