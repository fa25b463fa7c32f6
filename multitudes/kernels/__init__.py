"""Inner loops compiled by numba: plain functions over arrays, numba and numpy only.

Arguments are tagged IN, OUT or TMP with shape and dtype. Callers validate, kernels trust. Each has
a slow, obvious twin in `reference`, and a test holds it to that twin.
"""
