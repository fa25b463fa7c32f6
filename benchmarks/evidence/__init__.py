"""Evidence for the papers' claims: rows, seeds and data sets of each question, in one record.

    python -m benchmarks.evidence list
    python -m benchmarks.evidence run prime-order --data ../shared/data/debian-deps --out FOLDER
    python -m benchmarks.evidence gather FOLDER --data ../shared/data

A *study* is a question with rows (settings that are compared) and seeds. Each pair of a row and a
seed is a job of its own; several workers take the next one that nobody has, and store what they
found at once, so that a run can be stopped anywhere, continued, and spread over calls and machines.
`gather` makes records of it in ``benchmarks/results``, or adds it to those that are there;
`run` leaves out what a record has, unless it is told ``--again``.
"""
