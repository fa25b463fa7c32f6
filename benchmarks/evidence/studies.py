"""All studies by name; a module here says which of them a paper has."""

from __future__ import annotations

from benchmarks.evidence import of_disentangle, of_groups, of_miml, of_prime, of_seq2set
from benchmarks.evidence.study import Study

MODULES = (of_disentangle, of_groups, of_miml, of_prime, of_seq2set)
STUDIES: dict[str, Study] = {study.name: study for module in MODULES for study in module.ALL}
