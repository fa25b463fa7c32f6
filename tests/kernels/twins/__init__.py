"""Slow, obvious twins of the kernels: what each kernel must compute, for tests and for readers."""
