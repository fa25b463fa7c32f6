"""Triton kernels; each has a plain twin, which its docstring names."""
