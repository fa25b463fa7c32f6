"""The model "auto" with a budget: as many members as fit into the time, fused.

The data's way: `multitudes.tagger.costs` (how large is it, what could be trained, how long does
that take?), `probe` (on this machine?), `planning` (what fits?), `running` (train, measure, keep
what helps, within a `deadline`), `worth` and `report` (what came of it).
"""
