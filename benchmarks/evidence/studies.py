"""All studies by name; a module here says which of them a paper has."""

from __future__ import annotations

from benchmarks.evidence import of_disentangle, of_groups, of_prime, of_seq2set
from benchmarks.evidence.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for module in (of_disentangle, of_groups, of_prime, of_seq2set)
    for study in module.ALL
}
