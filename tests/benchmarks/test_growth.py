"""benchmarks.growth runs, and finds an exponent that is known."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from benchmarks.report.rows import middle
from benchmarks.trees import growth
from benchmarks.trees.long_tailed import long_tailed, tail


def test_the_last_line_is_the_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["growth", "--sizes", "300,600", "--threads", "1", "--no-store", "--memory", "3GB"]
    monkeypatch.setattr(sys, "argv", arguments)
    growth.main()
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    found = {
        name: {key: middle(one) for key, one in row["measures"].items()}
        for name, row in rows.items()
    }
    sizes = ["300 labels", "600 labels"]
    assert list(rows) == [
        *(row for size in sizes for row in (size, f"{size}, limited")),
        growth.ALL,
    ]
    assert all(0 < found[size]["fixed_mb"] < found[size]["peak_mb"] for size in sizes)
    assert np.isfinite([*found[growth.ALL].values()]).all()
    assert len(found[growth.ALL]) == 4
    assert found["600 labels"]["p1"] > 30
    assert all(rows[f"{size}, limited"]["settings"]["same_model"] for size in sizes)
    assert all(0 < found[f"{size}, limited"]["own_peak_mb"] < 3000 for size in sizes)


def test_a_known_exponent() -> None:
    nnz = [10.0, 100.0, 1000.0]
    assert growth.exponent([3 * n**1.2 for n in nnz], nnz) == pytest.approx(1.2)


def test_one_size_has_no_exponent() -> None:
    assert growth.exponent([3.0], [10.0]) is None


def test_problems_have_every_label_and_rows_of_length_one() -> None:
    X, Y, X_test, Y_test = long_tailed(2_000, n_test=300)
    assert X.shape[0] == Y.shape[0] == 2_000
    assert X_test.shape == (300, X.shape[1])
    assert Y_test.shape == (300, 2_000)
    assert np.bincount(Y.indices, minlength=2_000).min() >= 1
    assert set(Y.data) == {1}
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    assert 20 <= X.nnz / 2_000 <= 40
    assert 2.5 < Y.nnz / 2_000 < 3.5


def test_same_seed_same_problem() -> None:
    first, again, other = (
        long_tailed(200, random_state=random_state)[0] for random_state in (1, 1, 2)
    )
    assert (first != again).nnz == 0
    assert (first != other).nnz > 0


def test_ranks_fall_as_one_over_rank() -> None:
    counts = np.bincount(tail(np.random.default_rng(0), 1_000, 1_000_000), minlength=1_000)
    assert len(counts) == 1_000
    # Ranks 0 to 9 and 20 to 69 are ln(20/10) and ln(80/30) of ln(1010/10).
    assert counts[:10].sum() / 1e6 == pytest.approx(np.log(2) / np.log(101), rel=0.02)
    assert counts[20:70].sum() / 1e6 == pytest.approx(np.log(8 / 3) / np.log(101), rel=0.02)
