"""Rows of the studies of OTSeq2Set that are not run because a row that was run means the same."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.evidence import of_seq2set
from benchmarks.evidence.study import jobs_of
from multitudes.seq2set.losses.assignment_schemes import choose_scheme

JOBS = [job for s in of_seq2set.ALL for data in s.data for job in jobs_of(s, data, seeds=1)]


def parameters(settings, data):
    model = of_seq2set.model_of(settings, "vectors.txt", seed=0)
    found = model.get_params(deep=True)
    if found["loss__scheme"] == "auto" and model.objective == "set":
        found["loss__scheme"] = of_seq2set.CHOSEN[data]
    return {name: value for name, value in found.items() if name != "loss"}


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_what_a_row_means_is_the_same_model(job):
    meant = of_seq2set.meaning(job.data, job.settings)
    assert parameters(meant, job.data) == parameters(job.settings, job.data)


def test_some_rows_mean_the_same():
    names = [job.file_name for job in JOBS]
    assert len(set(names)) < len(names) - 10


@pytest.mark.real
@pytest.mark.parametrize("data", of_seq2set.CHOSEN)
def test_the_chosen_scheme_is_that_of_the_data(data, shared_data):
    problem = of_seq2set.problem_of(shared_data(data), 96)
    train, _ = problem.split()
    assert choose_scheme(np.diff(train.Y.indptr)).scheme == of_seq2set.CHOSEN[data]
