"""Requests a second, and what happens under load: see ``python -m benchmarks.serving --help``."""
